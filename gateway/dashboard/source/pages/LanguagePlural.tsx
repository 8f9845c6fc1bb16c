// The plural forms of a text, those that the language needs.

import { useState } from "react";
import { Dialog } from "../system/dialog";
import { Form, TextField } from "../system/form";
import { t, Text } from "../text";

export const forms = ["zero", "one", "two", "few", "many", "other"] as const;
export type PluralForm = (typeof forms)[number];

const hints: Partial<Record<PluralForm, Text>> = {
  one: "Such as 1 in English.",
  other: "Every other number. Required."
};

/** Those of CLDR for the language; what the browser does not know has one and other. */
export function formsOf(language: string): PluralForm[] {
  try {
    const needed = new Intl.PluralRules(language).resolvedOptions().pluralCategories as string[];
    return forms.filter((form) => needed.includes(form));
  } catch {
    return ["one", "other"];
  }
}

export function PluralDialog(
  { label, language, stored, single, close, save }: {
    label: string;
    language: string;
    stored: Partial<Record<string, string>>;
    /** The text without forms, for a start. */
    single: string;
    close: () => void;
    save: (texts: Partial<Record<PluralForm, string>>) => Promise<void>;
  }
) {
  const needed = formsOf(language);
  const shown = forms.filter((form) => needed.includes(form) || stored[form] !== undefined);
  const [texts, setTexts] = useState<Partial<Record<PluralForm, string>>>(() =>
    Object.fromEntries(shown.map((form) => [form, stored[form] ?? (Object.keys(stored).length ? "" : single)]))
  );
  const send = async () => {
    await save(texts);
    close();
  };
  return (
    <Dialog title={t("Plural forms of {name}", { name: label })} close={close}>
      <Form send={send} action={t("Save")} cancel={close} isDisabled={!texts.other}>
        {shown.map((form, index) => (
          <TextField
            key={form}
            label={form}
            value={texts[form] ?? ""}
            change={(text) => setTexts({ ...texts, [form]: text })}
            lines={2}
            autoFocus={index === 0}
            hint={hints[form] && t(hints[form] as Text)} />
        ))}
      </Form>
    </Dialog>
  );
}
