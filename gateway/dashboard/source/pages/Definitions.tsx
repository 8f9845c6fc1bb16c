// App definitions: screens that the server describes, as a tree with a preview, and as JSON with findings.

import { useState } from "react";
import { usePlace } from "../shell/place";
import { Button } from "../system/basics";
import { lazy } from "../system/lazy";
import { t } from "../text";
import { wordsIn } from "./definition";
import { DocumentList, NewDocument } from "./document";
import { DocumentPage } from "./DocumentEditor";

const Parts = lazy(async () => (await import("./DefinitionParts")).Parts);
const Rollout = lazy(async () => (await import("./DefinitionRollout")).Rollout);

const start = (name: string) => ({
  name,
  root_controller: "Main",
  views: { MainView: { contents: [{ kind: "LabelView", text: "Hello" }] } },
  controllers: { Main: { render: "MainView" } }
});

export function DefinitionsPage() {
  const [isNew, setNew] = useState(false);
  return (
    <>
      <DocumentList
        kind="definition"
        page="definitions"
        area="config"
        title={t("App definitions")}
        note={t("Screens that the server describes and apps build while they run.")}
        empty={t("A definition has views and controllers. An app shows what it supports and reports what it lacks.")}
        make={<Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New definition")}</Button>} />
      {isNew && (
        <NewDocument
          kind="definition"
          page="definitions"
          title={t("New definition")}
          label={t("Name")}
          placeholder="kick-in"
          start={start}
          close={() => setNew(false)} />
      )}
    </>
  );
}

export function DefinitionPage({ name }: { name: string }) {
  const place = usePlace();
  const isReadOnly = !place.may("config", "update");
  return (
    <DocumentPage
      kind="definition"
      name={name}
      area="config"
      back={{ to: place.to("definitions"), title: t("App definitions") }}
      words={wordsIn}
      views={[
        {
          name: "parts",
          title: t("Parts"),
          show: (draft, change) => <Parts name={name} draft={draft} change={change} isReadOnly={isReadOnly} />
        },
        {
          name: "rollout",
          title: t("Rollout"),
          show: (draft, change) => <Rollout name={name} draft={draft} change={change} isReadOnly={isReadOnly} />
        }
      ]} />
  );
}
