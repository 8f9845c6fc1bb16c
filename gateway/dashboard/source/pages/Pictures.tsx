// The icon of an app, and the pictures of its versions.

import { useRef, useState } from "react";
import type { App, Picture, Version } from "../../generated/api";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { callIn, given, usePlace } from "../shell/place";
import { Button, sayProblem, Section } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { StoredPicture } from "../system/picture";
import { say } from "../system/toast";
import { t } from "../text";

const maximumIconInMiB = 1;
const maximumPictureInMiB = 4;
const maximumPictures = 20;

function UploadButton(
  { label, title, maximumInMiB, isMultiple, store }: {
    label: string;
    title: string;
    maximumInMiB: number;
    isMultiple?: boolean;
    store: (file: File) => Promise<unknown>;
  }
) {
  const input = useRef<HTMLInputElement | null>(null);
  const [isBusy, setBusy] = useState(false);
  const upload = async () => {
    const files = Array.from(input.current?.files ?? []);
    if (input.current) input.current.value = "";
    setBusy(true);
    try {
      for (const file of files) {
        // The server would close the connection before it has read the file.
        if (file.size > maximumInMiB << 20) {
          throw new Problem(413, "payload-too-large", t("At most {n} MiB.", { n: maximumInMiB }));
        }
        await store(file);
      }
    } catch (error) {
      sayProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        multiple={isMultiple}
        className="hidden"
        aria-label={label}
        tabIndex={-1}
        onChange={() => void upload()} />
      <Button isSmall icon="upload" isDisabled={isBusy} onPress={() => input.current?.click()}>{title}</Button>
    </>
  );
}

export function AppIcon({ app, changed }: { app: App; changed: () => Promise<void> }) {
  const place = usePlace();
  const store = async (file: File) => {
    await request("PUT /admin/apps/{app}/icon", { ...given(place), body: file });
    await changed();
    say(t("Saved"));
  };
  const remove = async () => {
    await callIn(place, "DELETE /admin/apps/{app}/icon");
    await changed();
    say(t("Removed"));
  };
  return (
    <Section
      title={t("Icon")}
      note={t("PNG, JPEG or WebP of at most {n} MiB.", { n: maximumIconInMiB })}
      actions={place.may("applications", "update") && (
        <>
          {app.icon && <Button isSmall onPress={remove}>{t("Remove")}</Button>}
          <UploadButton
            label={t("Icon to upload")}
            title={app.icon ? t("Replace") : t("Upload")}
            maximumInMiB={maximumIconInMiB}
            store={store} />
        </>
      )}>
      {app.icon ?
        (
          <StoredPicture
            call="GET /admin/apps/{app}/icon"
            path={{ app: app.id }}
            version={app.icon.sha256}
            name={t("Icon of {name}", { name: app.name })}
            className="app-icon" />
        ) :
        <p className="faint">{t("No icon yet.")}</p>}
    </Section>
  );
}

export function VersionPictures({ version, changed }: { version: Version; changed: () => void }) {
  const place = usePlace();
  const [pictures, show] = useState(version.pictures);
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("applications", "update");
  const path = { version: version.number };
  const add = async (file: File) => {
    const { body } = await request("POST /admin/apps/{app}/versions/{version}/pictures", {
      ...given(place, path),
      body: file
    });
    show((old) => [...old, body as Picture]);
    changed();
  };
  const move = async (index: number, step: number) => {
    const ids = pictures.map((one) => one.id ?? "");
    ids.splice(index + step, 0, ...ids.splice(index, 1));
    const answer = await callIn(place, "PUT /admin/apps/{app}/versions/{version}/pictures", {
      path,
      body: { pictures: ids }
    });
    show(answer.pictures);
    changed();
  };
  const remove = (id: string, name: string) =>
    ask({
      title: t("Delete {name}?", { name }),
      action: t("Delete"),
      text: t("It will be deleted for good."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/versions/{version}/pictures/{id}", { path: { ...path, id } });
        show((old) => old.filter((one) => one.id !== id));
        changed();
      }
    });
  return (
    <Section
      title={t("Pictures")}
      note={t("Up to {count}, each PNG, JPEG or WebP of at most {n} MiB.", {
        count: maximumPictures,
        n: maximumPictureInMiB
      })}
      actions={canUpdate && pictures.length < maximumPictures && (
        <UploadButton
          label={t("Pictures to upload")}
          title={t("Upload")}
          maximumInMiB={maximumPictureInMiB}
          isMultiple
          store={add} />
      )}>
      {pictures.length === 0 ? <p className="faint">{t("No pictures yet.")}</p> : (
        <ol className="pictures" aria-label={t("Pictures")} tabIndex={0}>
          {pictures.map((one, index) => {
            const id = one.id ?? "";
            const name = t("Picture {n}", { n: index + 1 });
            return (
              <li key={id}>
                <StoredPicture
                  call="GET /admin/apps/{app}/versions/{version}/pictures/{id}"
                  path={{ ...path, app: place.app.id, id }}
                  name={name} />
                {canUpdate && (
                  <div className="row nowrap">
                    <Button
                      isSmall
                      icon="left"
                      label={t("Move {name} to the left", { name })}
                      isDisabled={index === 0}
                      onPress={() => move(index, -1)} />
                    <Button
                      isSmall
                      icon="right"
                      label={t("Move {name} to the right", { name })}
                      isDisabled={index === pictures.length - 1}
                      onPress={() => move(index, 1)} />
                    <Button
                      isSmall
                      icon="trash"
                      label={t("Delete {name}", { name })}
                      onPress={() => remove(id, name)} />
                  </div>
                )}
              </li>
            );
          })}
        </ol>
      )}
      {dialog}
    </Section>
  );
}
