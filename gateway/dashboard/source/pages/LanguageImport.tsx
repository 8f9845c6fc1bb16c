// Reads texts from a file.

import { useState } from "react";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Notice } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { say } from "../system/toast";
import { plural, t, Text } from "../text";
import { base } from "./LanguageGrid";

const formats: Record<string, Text> = {
  xcstrings: "Xcode string catalogue",
  xliff: "XLIFF 1.2",
  strings: "Xcode .strings",
  android: "Android strings.xml",
  json: "JSON, flat",
  csv: "Table (CSV)"
};

export function Import({ name, close, done }: { name: string; close: () => void; done: () => void }) {
  const place = usePlace();
  const [format, setFormat] = useState("xcstrings");
  const [language, setLanguage] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [preview, setPreview] = useState<Record<string, any> | null>(null);
  const run = (dryRun: boolean) =>
    request(`POST ${base}/import`, {
      ...given(place, { name }),
      query: { format, language, dryRun },
      body: file ?? new Blob(),
      headers: { "if-match": "*", "content-type": "application/octet-stream" }
    });
  const send = async () => {
    if (!file) throw new Problem(400, "no-file", t("Choose a file."));
    if (!preview) return setPreview((await run(true)).body);
    await run(false);
    say(t("Imported into the draft"));
    done();
  };
  return (
    <Dialog title={t("Import texts")} close={close}>
      <Form send={send} action={preview ? t("Import") : t("Look first")} cancel={close}>
        <Choice
          label={t("Format")}
          value={format}
          change={(next) => {
            setFormat(next);
            setPreview(null);
          }}
          options={Object.entries(formats).map(([value, title]) => ({ value, title: t(title) }))} />
        <TextField
          label={t("Language tag")}
          value={language}
          change={setLanguage}
          isOptional
          isCode
          placeholder="de"
          hint={t("For formats that hold one language.")} />
        <input
          type="file"
          aria-label={t("File")}
          onChange={(event) => {
            setFile(event.currentTarget.files?.[0] ?? null);
            setPreview(null);
          }} />
        {preview && (
          <Notice tone="good">
            {t("The file can be read.")}{" "}
            {typeof preview["keys"] === "number" && plural(preview["keys"], "{n} key", "{n} keys")}{" "}
            {Object.entries(preview).filter(([, one]) => typeof one === "number").map(([key, one]) => `${key}: ${one}`)
              .join(", ")}
          </Notice>
        )}
      </Form>
    </Dialog>
  );
}
