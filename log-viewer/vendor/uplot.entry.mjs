// uPlot with its style: scripts/bundle-libraries puts them into two files.
export { default } from "uplot";
import "uplot/dist/uPlot.min.css";
