// What the app's services keep, count and allow. Each part needs the right of its area.

import { ReactNode, useState } from "react";
import type { AnalyticsSettings } from "../../generated/api";
import { request } from "../api/client";
import { Area } from "../api/session";
import { callIn, given, usePlace } from "../shell/place";
import { Notice, Section, Show } from "../system/basics";
import { Check, Choice, errorOf, Form, TextField } from "../system/form";
import { JSONEditor, parse, pretty } from "../system/json";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { bytes, number, t } from "../text";

export function ServiceSettings() {
  const place = usePlace();
  const parts: { area: Area; show: () => ReactNode }[] = [
    { area: "storage", show: () => <Access /> },
    { area: "storage", show: () => <Limits kind="objects" /> },
    { area: "storage", show: () => <Limits kind="files" /> },
    { area: "analytics", show: () => <Analytics /> },
    { area: "crashes", show: () => <Crashes /> },
    { area: "tickets", show: () => <Tickets /> },
    { area: "notifications", show: () => <ClientMessages /> }
  ];
  const shown = parts.filter((one) => place.may(one.area, "read"));
  return (
    <div className="form-page stack-large">
      {shown.length === 0 && <Notice>{t("You have no right in the areas that have settings.")}</Notice>}
      {shown.map((one, index) => <div key={index}>{one.show()}</div>)}
    </div>
  );
}

/** Reads when the app or its environment changes. */
function useSettings<T>(read: () => Promise<T>) {
  const place = usePlace();
  return useLoad(read, [place.app.id, place.environment]);
}

/** A whole number, or nothing. */
const wholeOf = (text: string): number | null => (text.trim() === "" ? null : Math.round(Number(text)));

function Access() {
  const place = usePlace();
  const settings = useSettings(() => callIn(place, "GET /admin/apps/{app}/rules/settings"));
  const [changed, change] = useState<"closed" | "open" | null>(null);
  const send = async () => {
    settings.show(
      await callIn(place, "PUT /admin/apps/{app}/rules/settings", { body: { access: changed ?? "closed" } })
    );
    change(null);
    say(t("Saved"));
  };
  return (
    <Section title={t("Access to storage")} note={t("What users may do where no rule says otherwise.")}>
      <Show from={settings} lines={2}>
        {(found) => (
          <Form
            send={send}
            action={t("Save")}
            isReadOnly={!place.may("storage", "update")}
            isDisabled={changed === null || changed === found.access}>
            <Choice
              label={t("Access")}
              value={changed ?? found.access}
              change={change}
              isDisabled={!place.may("storage", "update")}
              options={[
                { value: "closed", title: t("Closed: nothing without a rule") },
                { value: "open", title: t("Open: everything, until a rule closes it") }
              ]} />
          </Form>
        )}
      </Show>
    </Section>
  );
}

interface Usage {
  objects?: number;
  files?: number;
  bytes: number;
  maximumObjects?: number;
  maximumFiles?: number;
  maximumBytes?: number;
  /** Whether the limits are those of the server. */
  isDefault?: boolean;
}

function Limits({ kind }: { kind: "objects" | "files" }) {
  const place = usePlace();
  const usage = useSettings(async () =>
    (await request(`GET /admin/apps/{app}/${kind}/usage`, given(place))).body as Usage
  );
  const mostName = kind === "objects" ? "maximumObjects" : "maximumFiles";
  const { isDefault = false, maximumBytes: size, [mostName]: most } = usage.data ?? {};
  return (
    <Section title={kind === "objects" ? t("Limits of objects") : t("Limits of files")}>
      <Show from={usage} lines={2}>
        {(found) => (
          <LimitFields
            key={JSON.stringify([most, size, isDefault])}
            most={isDefault ? undefined : most}
            size={isDefault ? undefined : size}
            note={t("{n} now, with {size}.", { n: found[kind] ?? 0, size: bytes(found.bytes) })}
            save={async (most, size) => {
              await request(`PUT /admin/apps/{app}/${kind}/limits`, {
                ...given(place),
                body: { [mostName]: most, maximumBytes: size }
              });
              usage.reload();
            }} />
        )}
      </Show>
    </Section>
  );
}

function LimitFields(
  { most, size, note, save }: {
    most: number | undefined;
    size: number | undefined;
    note: string;
    save: (most: number | null, size: number | null) => Promise<void>;
  }
) {
  const place = usePlace();
  const isReadOnly = !place.may("applications", "update");
  const [mostText, setMost] = useState(most === undefined ? "" : String(most));
  const [sizeText, setSize] = useState(size === undefined ? "" : String(size));
  const sizeNumber = wholeOf(sizeText);
  const send = async () => {
    await save(wholeOf(mostText), sizeNumber);
    say(t("Saved"));
  };
  return (
    <Form send={send} action={t("Save")} isReadOnly={isReadOnly}>
      <p className="note">{note}</p>
      <div className="pair">
        <TextField
          label={t("Maximum number")}
          type="number"
          value={mostText}
          change={setMost}
          isOptional
          isDisabled={isReadOnly}
          hint={mostText ? number(Number(mostText)) : t("No limit of the app's own.")} />
        <TextField
          label={t("Maximum bytes")}
          type="number"
          value={sizeText}
          change={setSize}
          isOptional
          isDisabled={isReadOnly}
          hint={sizeNumber === null ? t("No limit of the app's own.") : bytes(sizeNumber)} />
      </div>
    </Form>
  );
}

function Analytics() {
  const place = usePlace();
  const settings = useSettings(() => callIn(place, "GET /admin/apps/{app}/analytics/settings"));
  return (
    <Section title={t("Analytics")}>
      <Show from={settings} lines={3}>
        {(found) => <AnalyticsFields key={JSON.stringify(found)} stored={found} saved={settings.show} />}
      </Show>
    </Section>
  );
}

function AnalyticsFields(
  { stored, saved }: { stored: AnalyticsSettings; saved: (settings: AnalyticsSettings) => void }
) {
  const place = usePlace();
  const isReadOnly = !place.may("analytics", "update");
  const [isCollecting, setCollecting] = useState(stored.isCollecting ?? true);
  const [privacy, setPrivacy] = useState(stored.privacy ?? "standard");
  const [days, setDays] = useState(String(stored.retentionDays ?? ""));
  const [zone, setZone] = useState(stored.timeZone ?? "");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const retentionDays = wholeOf(days);
    const body = {
      isCollecting,
      privacy,
      ...(retentionDays === null ? {} : { retentionDays }),
      ...(zone ? { timeZone: zone } : {})
    };
    saved(await callIn(place, "PUT /admin/apps/{app}/analytics/settings", { body }));
    say(t("Saved"));
  };
  return (
    <Form send={send} action={t("Save")} isReadOnly={isReadOnly} report={report} fields={["retentionDays", "timeZone"]}>
      <Check
        label={t("Events are collected")}
        value={isCollecting}
        change={setCollecting}
        isDisabled={isReadOnly} />
      <div className="pair">
        <Choice
          label={t("Privacy")}
          value={privacy}
          change={setPrivacy}
          isDisabled={isReadOnly}
          options={[{ value: "standard", title: t("Standard") }, { value: "strict", title: t("Strict") }]} />
        <TextField
          label={t("Days that events are kept")}
          type="number"
          value={days}
          change={setDays}
          isDisabled={isReadOnly}
          hint={t("A smaller number deletes what is older.")}
          error={errorOf("retentionDays", problem)} />
        <TextField
          label={t("Time zone of days")}
          value={zone}
          change={setZone}
          isDisabled={isReadOnly}
          placeholder="Europe/Zurich"
          error={errorOf("timeZone", problem)} />
      </div>
    </Form>
  );
}

function Crashes() {
  const place = usePlace();
  const settings = useSettings(async () =>
    (await callIn(place, "GET /admin/apps/{app}/crashes/settings")) as { retentionDays: number | null }
  );
  return (
    <Section title={t("Crashes")}>
      <Show from={settings} lines={1}>
        {(found) => (
          <OneField
            key={String(found.retentionDays)}
            label={t("Days that reports are kept")}
            type="number"
            stored={found.retentionDays === null ? "" : String(found.retentionDays)}
            hint={t("Empty: as long as the server keeps them.")}
            isReadOnly={!place.may("crashes", "update")}
            name="retentionDays"
            save={async (text) =>
              settings.show(
                (await callIn(place, "PUT /admin/apps/{app}/crashes/settings", {
                  body: { retentionDays: wholeOf(text) }
                })) as { retentionDays: number | null }
              )} />
        )}
      </Show>
    </Section>
  );
}

function Tickets() {
  const place = usePlace();
  const settings = useSettings(() => callIn(place, "GET /admin/apps/{app}/tickets/settings"));
  return (
    <Section title={t("Tickets")}>
      <Show from={settings} lines={1}>
        {(found) => (
          <OneField
            key={found.prefix ?? ""}
            label={t("Letters before the number")}
            stored={found.prefix ?? ""}
            hint={t("APP gives APP-12. The numbers of older tickets change, too.")}
            isReadOnly={!place.may("tickets", "update")}
            name="prefix"
            save={async (prefix) =>
              settings.show(await callIn(place, "PATCH /admin/apps/{app}/tickets/settings", { body: { prefix } }))} />
        )}
      </Show>
    </Section>
  );
}

function OneField(
  { label, stored, hint, name, type, isReadOnly, save }: {
    label: string;
    stored: string;
    hint: string;
    name: string;
    type?: "number";
    isReadOnly: boolean;
    save: (text: string) => Promise<void>;
  }
) {
  const [text, setText] = useState(stored);
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    await save(text);
    say(t("Saved"));
  };
  return (
    <Form
      send={send}
      action={t("Save")}
      fields={[name]}
      report={report}
      isReadOnly={isReadOnly}
      isDisabled={text === stored}>
      <TextField
        label={label}
        type={type}
        value={text}
        change={setText}
        isDisabled={isReadOnly}
        hint={hint}
        error={errorOf(name, problem)} />
    </Form>
  );
}

/** Messages that users may send to each other: templates with limits. */
function ClientMessages() {
  const place = usePlace();
  const rules = useSettings(() => callIn(place, "GET /admin/apps/{app}/notifications/client-rules"));
  return (
    <Section
      title={t("Push from users")}
      note={t("Which templates users may send to each other, to how many, and how often.")}>
      <Show from={rules} lines={3}>
        {(found) => (
          <ClientMessageFields
            key={JSON.stringify(found)}
            stored={pretty(found)}
            save={async (body) =>
              rules.show(
                (await request("PUT /admin/apps/{app}/notifications/client-rules", { ...given(place), body })).body
              )} />
        )}
      </Show>
    </Section>
  );
}

function ClientMessageFields({ stored, save }: { stored: string; save: (rules: unknown) => Promise<void> }) {
  const place = usePlace();
  const isReadOnly = !place.may("notifications", "update");
  const [text, setText] = useState(stored);
  const parsed = parse(text);
  const send = async () => {
    await save(parsed.value);
    say(t("Saved"));
  };
  return (
    <Form
      send={send}
      action={t("Save")}
      isReadOnly={isReadOnly}
      isDisabled={parsed.error !== undefined || text === stored}>
      <JSONEditor label={t("Push from users")} text={text} change={setText} isReadOnly={isReadOnly} />
    </Form>
  );
}
