// An app's versions: the list, and the form to add or change one.

import { useState } from "react";
import type { Version } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, errorOf, Form, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { usePages } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { day, number as numberText, t } from "../text";

const VersionPictures = lazy(async () => (await import("./Pictures")).VersionPictures);

export function Versions() {
  const place = usePlace();
  const list = usePages<Version>(
    (after) => callIn(place, "GET /admin/apps/{app}/versions", { query: { after, limit: 50 } }),
    [place.app.id]
  );
  const [edited, edit] = useOpened(
    list.data,
    (version) => version.number,
    (version) => callIn(place, "GET /admin/apps/{app}/versions/{version}", { path: { version } })
  );
  const [dialog, ask] = useConfirm();
  const done = () => {
    edit(null);
    list.reload();
  };
  const remove = (version: Version) =>
    ask({
      title: t("Delete version {number}?", { number: version.number }),
      action: t("Delete"),
      text: t("Its notes and pictures are deleted with it."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/versions/{version}", { path: { version: version.number } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("Choose a version at the top to see only its crashes, analytics and configurations.")}
      actions={place.may("applications", "update") && (
        <Button
          kind="primary"
          icon="plus"
          onPress={() => edit("new")}>
          {t("New version")}
        </Button>
      )}>
      <Show from={list}>
        {(versions) => (
          <Table
            label={t("Versions")}
            rows={versions}
            id={(version) => version.number}
            hasMore={list.hasMore}
            more={list.more}
            open={edit}
            columns={[
              {
                name: "number",
                title: t("Version"),
                width: "140px",
                cell: (version) => <span className="strong">{version.number}</span>
              },
              {
                name: "build",
                title: t("Build"),
                width: "110px",
                isExtra: true,
                cell: (version) => <span className="soft">{version.build}</span>
              },
              {
                name: "state",
                title: t("State"),
                width: "120px",
                cell: (version) => (
                  <Badge tone={version.state === "released" ? "good" : "neutral"}>
                    {version.state === "released" ? t("Released") : t("Planned")}
                  </Badge>
                )
              },
              {
                name: "date",
                title: t("Date"),
                width: "140px",
                cell: (version) => version.releaseDate && <span className="soft">{day(version.releaseDate)}</span>
              },
              {
                name: "notes",
                title: t("Notes"),
                isExtra: true,
                cell: (version) => <span className="soft">{Object.values(version.notes)[0]}</span>
              },
              {
                name: "pictures",
                title: t("Pictures"),
                width: "90px",
                isNumber: true,
                isExtra: true,
                cell: (version) => version.pictures.length > 0 && numberText(version.pictures.length)
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (version) => (
                  <Menu
                    label={t("More about {name}", { name: version.number })}
                    items={[
                      {
                        title: t("Delete"),
                        act: () => remove(version),
                        isDanger: true,
                        isHidden: !place.may("applications", "update")
                      }
                    ]} />
                )
              }
            ]}
            empty={
              <Empty icon="apps" title={t("No versions yet")}>
                {t("Add the versions that you have released or plan to release.")}
              </Empty>
            } />
        )}
      </Show>
      {edited && (
        <VersionForm
          version={edited === "new" ? null : edited}
          close={() => edit(null)}
          changed={list.reload}
          done={done} />
      )}
      {dialog}
    </Section>
  );
}

function VersionForm(
  { version, close, changed, done }: {
    version: Version | null;
    close: () => void;
    changed: () => void;
    done: () => void;
  }
) {
  const place = usePlace();
  const isReadOnly = !place.may("applications", "update");
  const [number, setNumber] = useState(version?.number ?? "");
  const [build, setBuild] = useState(version?.build ?? "");
  const [state, setState] = useState<Version["state"]>(version?.state ?? "planned");
  const [releaseDate, setDate] = useState(version?.releaseDate ?? "");
  const [notes, setNotes] = useState<Record<string, string>>({ en: "", ...version?.notes });
  const [problem, report] = useState<unknown>(undefined);
  const body = {
    number,
    build,
    state,
    releaseDate: releaseDate || null,
    notes: Object.fromEntries(Object.entries(notes).filter(([, text]) => text))
  };
  const send = async () => {
    if (version) {
      await callIn(place, "PATCH /admin/apps/{app}/versions/{version}", { path: { version: version.number }, body });
    } else await callIn(place, "POST /admin/apps/{app}/versions", { body });
    done();
  };
  return (
    <Dialog
      title={version ? t("Version {number}", { number: version.number }) : t("New version")}
      close={close}
      isWide={version !== null}>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        fields={["number", "build", "releaseDate"]}
        report={report}
        isReadOnly={isReadOnly}>
        <div className="pair">
          <TextField
            label={t("Version")}
            value={number}
            change={setNumber}
            isRequired
            autoFocus
            placeholder="1.2.0"
            isDisabled={isReadOnly}
            error={errorOf("number", problem)} />
          <TextField
            label={t("Build")}
            value={build}
            change={setBuild}
            isOptional
            isDisabled={isReadOnly}
            error={errorOf("build", problem)} />
        </div>
        <div className="pair">
          <Choice
            label={t("State")}
            value={state}
            change={setState}
            isDisabled={isReadOnly}
            options={[{ value: "planned", title: t("Planned") }, { value: "released", title: t("Released") }]} />
          <TextField
            label={t("Date")}
            type="date"
            value={releaseDate}
            change={setDate}
            isOptional
            isDisabled={isReadOnly}
            error={errorOf("releaseDate", problem)} />
        </div>
        {Object.entries(notes).map(([language, text]) => (
          <TextField
            key={language}
            label={language === "en" ? t("Notes") : t("Notes in {language}", { language })}
            value={text}
            change={(next) => setNotes({ ...notes, [language]: next })}
            lines={4}
            isOptional
            isDisabled={isReadOnly} />
        ))}
      </Form>
      {version && <VersionPictures version={version} changed={changed} />}
    </Dialog>
  );
}
