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
const listeners = new Set<() => void>();

function set(next: Message[]): void {
  messages = next;
  listeners.forEach((listener) => listener());
}

/** Shows a message for some seconds. With `undo` it offers to take the act back. */
export function say(text: string, options: Omit<Message, "id" | "text"> = {}): void {
  const message = { id: ++count, text, ...options };
  set([...messages.slice(-2), message]);
  setTimeout(
    () => set(messages.filter((one) => one.id !== message.id)),
    options.undo || options.tone === "bad" ? 9000 : 4000
  );
}

export function Toasts() {
  const shown = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, () => messages);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((message) => (
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
