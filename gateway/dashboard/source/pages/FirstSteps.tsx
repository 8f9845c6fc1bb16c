// What to do first in a new app.

import { request } from "../api/client";
import { callIn, given, Place } from "../shell/place";
import { Button, Section } from "../system/basics";
import { Icon } from "../system/icons";
import { useLoad } from "../system/load";
import { go } from "../system/router";
import { t } from "../text";
import { orNothing } from "./Overview";

interface Step {
  title: string;
  about: string;
  to: string;
  isDone: boolean;
}

export function Checklist({ place }: { place: Place }) {
  const steps = useLoad(() => readSteps(place), [place.app.id, place.environment]);
  const hiddenKey = `martlet.checklist.${place.app.id}`;
  if (!steps.data || steps.data.length === 0 || localStorage.getItem(hiddenKey)) return null;
  const open = steps.data.filter((step) => !step.isDone);
  if (open.length === 0) return null;
  const done = steps.data.length - open.length;
  return (
    <Section
      title={t("First steps")}
      note={t("{done} of {all} done", { done, all: steps.data.length })}
      actions={
        <Button
          kind="quiet"
          isSmall
          onPress={() => {
            localStorage.setItem(hiddenKey, "yes");
            steps.reload();
          }}>
          {t("Hide")}
        </Button>
      }>
      <ol className="card steps" style={{ gap: 0, paddingTop: 6, paddingBottom: 6 }}>
        {steps.data.map((step) => (
          <li key={step.title} className={step.isDone ? "done" : ""}>
            <span className="mark">
              <Icon name="check" size={12} />
            </span>
            <div>
              <strong>{step.title}</strong>
              {step.isDone && <span className="hidden">{t("done")}</span>}
              {!step.isDone && <p>{step.about}</p>}
            </div>
            {!step.isDone && <Button isSmall onPress={() => go(step.to)}>{t("Do it")}</Button>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** Collections with an underscore are there from the start. */
const isOwn = (collection: string) => !collection.startsWith("_");

async function readSteps(place: Place): Promise<Step[]> {
  const steps: Step[] = [];
  const check = async <T extends unknown>(
    isAllowed: boolean,
    step: Omit<Step, "isDone">,
    reading: () => Promise<T>,
    isDone: (answer: T) => boolean
  ) => {
    if (!isAllowed) return;
    const answer = await orNothing(reading());
    if (answer !== undefined) steps.push({ ...step, isDone: isDone(answer) });
  };
  const some = (answer: { data?: unknown[] }) => (answer.data?.length ?? 0) > 0;
  await check(
    place.may("applications", "read"),
    {
      title: t("Put the keys into your app"),
      about: t("The app key goes into the address, the secret into a header."),
      to: place.to("settings")
    },
    () => callIn(place, "GET /admin/apps/{app}/keys"),
    (keys) => keys.data.some((key) => key.lastUsed !== null)
  );
  await check(
    place.may("storage", "create"),
    {
      title: t("Store a first object"),
      about: t("Collections appear by themselves with the first object."),
      to: place.to("storage")
    },
    () =>
      request("GET /admin/apps/{app}/collections", given(place)).then((answer) =>
        answer.body.data as { name: string }[]
      ),
    (collections) => collections.some((one) => isOwn(one.name))
  );
  await check(
    place.may("storage", "update"),
    {
      title: t("Say who may read and write"),
      about: t("Without rules, a new app is closed to all but its server."),
      to: place.to("storage", { tab: "rules" })
    },
    () => callIn(place, "GET /admin/apps/{app}/rules"),
    (rules) => Object.keys(rules.collections ?? {}).some(isOwn)
  );
  await check(
    place.may("config", "update"),
    {
      title: t("Publish a configuration"),
      about: t("Change settings and looks without a new build."),
      to: place.to("configuration")
    },
    () => callIn(place, "GET /admin/apps/{app}/config/{kind}", { path: { kind: "configuration" } }),
    (list) => (list.data ?? []).some((one) => one.liveVersion != null)
  );
  await check(
    place.may("analytics", "read"),
    {
      title: t("Send a first event"),
      about: t("Segment's clients work as they are, with an ingest key."),
      to: place.to("analytics")
    },
    () =>
      callIn(place, "GET /admin/apps/{app}/analytics/events", { query: { limit: 1 } }) as Promise<{ data: unknown[] }>,
    some
  );
  await check(
    place.may("crashes", "read"),
    { title: t("Report a first crash"), about: t("Sentry's clients work as they are."), to: place.to("crashes") },
    () => callIn(place, "GET /admin/apps/{app}/crashes/issues", { query: { limit: 1 } }),
    some
  );
  await check(
    place.may("notifications", "update"),
    {
      title: t("Store a push key"),
      about: t("From Apple or Google; browsers need no key of their own."),
      to: place.to("push", { tab: "credentials" })
    },
    () => callIn(place, "GET /admin/apps/{app}/notifications/credentials"),
    (list) => (list.data ?? []).some((one) => one.kind !== "smtp")
  );
  await check(
    place.may("staff", "create") && place.may("staff", "read"),
    { title: t("Invite a colleague"), about: t("With rights for what they work on, and no more."), to: "/staff" },
    () => request("GET /admin/staff", { query: { limit: 2 } }).then((answer) => answer.body as { data: unknown[] }),
    (list) => list.data.length > 1
  );
  return steps;
}
