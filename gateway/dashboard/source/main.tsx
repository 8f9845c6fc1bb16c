import "./system/style.css";
import { createRoot } from "react-dom/client";
import { App, applyLook } from "./shell/App";
import { loadTexts } from "./text";

applyLook();
const root = document.getElementById("root");
if (root) void loadTexts().catch(() => undefined).then(() => createRoot(root).render(<App />));
