//! Panza, a General Game Playing player server.
