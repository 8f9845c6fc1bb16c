import { useSyncExternalStore } from "react";
import { t } from "../text";

interface Message {
  id: number;
  text: string;
  detail?: string;
  tone?: "good" | "bad";
  undo?: () => void;
}

let messages: Message[] = [];
let count = 0;
/** The dialogs that are open, the topmost last. */
let dialogs: string[] = [];
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: Message[], open = dialogs): void {
  [messages, dialogs] = [next, open];
  listeners.forEach((listener) => listener());
}

/** Shows the messages in this dialog until it closes: what is outside of it can neither be pressed nor is read out. */
export function showIn(dialog: string): () => void {
  set(messages, [...dialogs, dialog]);
  return () => set(messages, dialogs.filter((one) => one !== dialog));
}

/** Shows a message for some seconds. With `undo` it has a button that calls it. */
export function say(text: string, options: Omit<Message, "id" | "text"> = {}): void {
  const message = { id: ++count, text, ...options };
  set([...messages.slice(-2), message]);
  setTimeout(
    () => set(messages.filter((one) => one.id !== message.id)),
    options.undo || options.tone === "bad" ? 9000 : 4000
  );
}

/** The messages, in the topmost dialog or, without one, on the page. */
export function Toasts({ dialog }: { dialog?: string }) {
  const shown = useSyncExternalStore(subscribe, () => messages);
  const topmost = useSyncExternalStore(subscribe, () => dialogs[dialogs.length - 1]);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {topmost === dialog && shown.map((message) => (
        <div key={message.id} className={"toast " + (message.tone ?? "")}>
          <span>
            <strong>{message.text}</strong>
            {message.detail && <span className="detail">{message.detail}</span>}
          </span>
          {message.undo && (
            <button
              type="button"
              onClick={() => {
                set(messages.filter((one) => one.id !== message.id));
                message.undo?.();
              }}>
              {t("Undo")}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
