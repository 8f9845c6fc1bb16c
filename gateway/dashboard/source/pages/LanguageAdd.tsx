// A new text, or a new language.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Dialog } from "../system/dialog";
import { Form, TextField } from "../system/form";
import { t } from "../text";
import { base, patchLanguages } from "./LanguageGrid";

export function Add(
  { kind, name, published, source, close, done }: {
    kind: "key" | "language";
    name: string;
    /** The languages that there are. */
    published: Record<string, boolean>;
    source: string;
    close: () => void;
    done: () => void;
  }
) {
  const place = usePlace();
  const [text, setText] = useState("");
  const [value, setValue] = useState("");
  const send = async () => {
    if (kind === "key") {
      await request(`PUT ${base}/keys`, {
        ...given(place, { name }),
        query: { key: text },
        headers: { "if-match": "*" },
        body: { localizations: { [source]: { stringUnit: { state: "translated", value } } } }
      });
    } else {
      await patchLanguages(place, name, { ...published, [text]: false });
    }
    done();
  };
  return (
    <Dialog title={kind === "key" ? t("New key") : t("New language")} close={close}>
      <Form send={send} action={t("Add")} cancel={close}>
        {kind === "key" ?
          (
            <>
              <TextField
                label={t("Key")}
                value={text}
                change={setText}
                isCode
                isRequired
                autoFocus
                placeholder="checkout.pay" />
              <TextField
                label={t("Text in {language}", { language: source })}
                value={value}
                change={setValue}
                lines={2} />
            </>
          ) :
          (
            <TextField
              label={t("Language tag")}
              value={text}
              change={setText}
              isCode
              isRequired
              autoFocus
              placeholder="de-AT"
              hint={t("It is off until you turn it on, above its texts.")} />
          )}
      </Form>
    </Dialog>
  );
}
