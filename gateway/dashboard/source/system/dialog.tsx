import { ReactNode, useEffect, useId, useRef, useState } from "react";
import { t } from "../text";
import { Button } from "./basics";
import { Form, TextField } from "./form";
import { showIn, Toasts } from "./toast";

/**
 * A dialog above the page. The browser keeps the focus in it, and Escape closes it. A press beside it closes it, too,
 * unless something was typed in it.
 */
export function Dialog(
  { title, close, children, isWide }: { title: string; close: () => void; children?: ReactNode; isWide?: boolean }
) {
  const element = useRef<HTMLDialogElement | null>(null);
  const isTyped = useRef(false);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
    return showIn(id);
  }, []);
  return (
    <dialog
      ref={element}
      className={isWide ? "wide" : ""}
      aria-labelledby={id}
      onCancel={(event) => {
        // React passes on the event of a dialog within this one, and the browser that of a file input.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        close();
      }}
      // The browser lets a page prevent this only once in a row, and `close` may have asked and stayed.
      onClose={(event) => event.target === event.currentTarget && event.currentTarget.showModal()}
      onInput={() => (isTyped.current = true)}
      onMouseDown={(event) => event.target === event.currentTarget && !isTyped.current && close()}>
      <div className="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <Button icon="close" kind="quiet" label={t("Close")} onPress={close} />
        </header>
        {children}
      </div>
      <Toasts dialog={id} />
    </dialog>
  );
}

export interface Question {
  title: string;
  text: ReactNode;
  action: string;
  /** A text to type before the action can start: for actions that cannot be undone. */
  typed?: string;
  isDanger?: boolean;
  act: () => Promise<unknown>;
}

/** Asks before an action, and stays open while it runs. */
export function Confirm({ question, close }: { question: Question; close: () => void }) {
  const [typed, setTyped] = useState("");
  const act = async () => {
    await question.act();
    close();
  };
  return (
    <Dialog title={question.title} close={close}>
      <Form
        send={act}
        action={question.action}
        cancel={close}
        isDanger={question.isDanger !== false}
        isDisabled={question.typed !== undefined && typed !== question.typed}>
        <p>{question.text}</p>
        {question.typed && (
          <TextField
            label={t("Type {name} to confirm", { name: question.typed })}
            value={typed}
            change={setTyped}
            autoFocus />
        )}
      </Form>
    </Dialog>
  );
}

/** A question that a page may ask: `[dialog, ask]`. */
export function useConfirm(): [ReactNode, (question: Question) => void] {
  const [question, ask] = useState<Question | null>(null);
  return [question && <Confirm key={question.title} question={question} close={() => ask(null)} />, ask];
}
