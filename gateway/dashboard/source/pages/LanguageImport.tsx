// Reads texts from a file, and writes them to one.

import { useState } from "react";
import { download, request } from "../api/client";
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

/** The end of the file's name; formats that hold one language need it in the call. */
const endings: Record<string, { ending: string; isOfLanguage: boolean }> = {
  xcstrings: { ending: "xcstrings", isOfLanguage: false },
  xliff: { ending: "xliff", isOfLanguage: true },
  strings: { ending: "strings", isOfLanguage: true },
  android: { ending: "xml", isOfLanguage: true },
  json: { ending: "json", isOfLanguage: true },
  csv: { ending: "csv", isOfLanguage: false }
};

export function Export({ name, close }: { name: string; close: () => void }) {
  const place = usePlace();
  const [format, setFormat] = useState("xcstrings");
  const [language, setLanguage] = useState("");
  const { ending = format, isOfLanguage = false } = endings[format] ?? {};
  const send = async () => {
    const of = isOfLanguage ? language.trim() : "";
    await download("GET /admin/apps/{app}/config/translation/{name}/export", {
      ...given(place, { name }),
      query: { format, language: of }
    }, [name, of].filter(Boolean).join("-") + "." + ending);
    close();
  };
  return (
    <Dialog title={t("Export texts")} close={close}>
      <Form send={send} action={t("Export")} cancel={close}>
        <Choice
          label={t("Format")}
          value={format}
          change={setFormat}
          options={Object.entries(formats).map(([value, title]) => ({ value, title: t(title) }))} />
        {isOfLanguage && (
          <TextField
            label={t("Language tag")}
            value={language}
            change={setLanguage}
            isCode
            isRequired
            placeholder="de"
            hint={t("en-XA is a pseudo-language: accents, in brackets, a third longer.")} />
        )}
      </Form>
    </Dialog>
  );
}

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
      <Form send={send} action={preview ? t("Import") : t("Preview")} cancel={close}>
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
