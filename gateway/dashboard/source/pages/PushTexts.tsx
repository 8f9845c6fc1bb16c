// The texts of a push message by language, and how a phone shows them.

import { useState } from "react";
import { Button, Tabs } from "../system/basics";
import { errorOf, TextField } from "../system/form";
import { Logo } from "../system/icons";
import { t } from "../text";

export interface Texts {
  title: string;
  body: string;
}

/** `languages` begins with the empty one: the texts for everybody. */
export function TextsByLanguage(
  { languages, language, choose, add, texts, change, problem, focuses }: {
    languages: string[];
    language: string;
    choose: (language: string) => void;
    add: (language: string) => void;
    /** Those of the present language. */
    texts: Texts;
    change: (part: Partial<Texts>) => void;
    problem: unknown;
    focuses?: boolean;
  }
) {
  const [newLanguage, setNewLanguage] = useState("");
  const addLanguage = () => {
    if (!newLanguage || languages.includes(newLanguage)) return;
    add(newLanguage);
    choose(newLanguage);
    setNewLanguage("");
  };
  return (
    <>
      <Tabs
        label={t("Language")}
        current={language}
        choose={choose}
        tabs={languages.map((name) => ({ name, title: name || t("For everybody") }))} />
      <TextField
        label={t("Title")}
        value={texts.title}
        change={(title) => change({ title })}
        autoFocus={focuses}
        error={errorOf("content.title", problem)} />
      <TextField
        label={t("Text")}
        value={texts.body}
        change={(body) => change({ body })}
        lines={3}
        error={errorOf("content.body", problem)} />
      <div className="toolbar adder">
        <span style={{ width: 120 }}>
          <input
            value={newLanguage}
            placeholder="de"
            aria-label={t("Language tag")}
            onChange={(event) => setNewLanguage(event.currentTarget.value.trim())}
            onKeyDown={(event) => {
              if (event.key === "Enter") {
                event.preventDefault();
                addLanguage();
              }
            }} />
        </span>
        <Button onPress={addLanguage} isDisabled={!newLanguage || languages.includes(newLanguage)}>
          {t("Add a language")}
        </Button>
      </div>
    </>
  );
}

export function Phone({ title, body }: Texts) {
  return (
    <div className="phone" role="group" aria-label={t("As a phone shows it")}>
      <div className="clock">9:41</div>
      <div className="bubble">
        <Logo size={32} />
        <span>
          <strong>{title || t("Title")}</strong>
          <br />
          {body || t("Text")}
        </span>
      </div>
    </div>
  );
}
