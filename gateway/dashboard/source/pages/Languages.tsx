// Translations: a grid of keys and languages, edited in place.

import { useState } from "react";
import { usePlace } from "../shell/place";
import { Button } from "../system/basics";
import { lazy } from "../system/lazy";
import { t } from "../text";
import { DocumentList, NewDocument } from "./document";
import { DocumentPage } from "./DocumentEditor";

const Grid = lazy(async () => (await import("./LanguageGrid")).Grid);
const Import = lazy(async () => (await import("./LanguageImport")).Import);
const Export = lazy(async () => (await import("./LanguageImport")).Export);

export function LanguagesPage() {
  const [isNew, setNew] = useState(false);
  return (
    <>
      <DocumentList
        kind="translation"
        page="languages"
        area="languages"
        title={t("Languages")}
        note={t("The texts of each version of the app, in every language.")}
        empty={t("Begin with the texts of one version; import them from Xcode, Android or a table.")}
        make={<Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New version")}</Button>} />
      {isNew && (
        <NewDocument
          kind="translation"
          page="languages"
          title={t("Texts of a version")}
          label={t("App version")}
          placeholder="1.2.0"
          start={() => ({ sourceLanguage: "en", version: "1.0", strings: {}, languages: { en: { published: true } } })}
          close={() => setNew(false)} />
      )}
    </>
  );
}

export function TranslationPage({ name }: { name: string }) {
  const place = usePlace();
  const [isImporting, setImporting] = useState(false);
  const [isExporting, setExporting] = useState(false);
  return (
    <DocumentPage
      kind="translation"
      name={name}
      area="languages"
      back={{ to: place.to("languages"), title: t("Languages") }}
      views={[{
        name: "grid",
        title: t("Texts"),
        show: (_, __, reload) => <Grid name={name} changed={reload} />
      }]}
      actions={(loaded) => (
        <>
          {place.may("languages", "update") && <Button onPress={() => setImporting(true)}>{t("Import")}</Button>}
          <Button icon="download" onPress={() => setExporting(true)}>{t("Export")}</Button>
          {isExporting && <Export name={name} close={() => setExporting(false)} />}
          {isImporting && (
            <Import
              name={name}
              close={() => setImporting(false)}
              done={() => {
                setImporting(false);
                loaded.reload();
              }} />
          )}
        </>
      )} />
  );
}
