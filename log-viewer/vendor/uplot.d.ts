// What `uplot.js` holds, with the types of the package that it is made of.

export { default } from "uplot";
