import "./system/style.css";
import { createRoot } from "react-dom/client";
import { App, applyLook } from "./shell/App";

applyLook();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
