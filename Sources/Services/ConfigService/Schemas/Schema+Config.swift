import MartletHTTP

extension Schema {
    static let liveVersion: Schema = component(
        "LiveVersion",
        .object(
            [
                "version": .string.nullable.described("The document's own `version`, or its number."),
                "date": .time.nullable,
            ], required: ["version", "date"]
        ).described(
            """
            The one that was published last in this environment of the app; null where nothing is live.
            """))

    static let remoteConfiguration: Schema = component(
        "RemoteConfiguration",
        .object(
            [
                "config": .liveVersion,
                "appVersion": .string.described("The one it was made for."),
                "theme": .string.nullable,
                "version": .string,
                "number": .integer.minimum(1),
                "live": .boolean,
                "hash": .string.described(
                    "SHA-256 of languagesList, mainSettings, colors and controllers, in hexadecimal digits."),
                "themes": .array(of: .string),
                "languagesList": .array(of: .string),
                "mainSettings": .object,
                "colors": .array(of: .object),
                "controllers": .array(of: .object),
                "experiments": .map(of: .string).described("Experiment to variation."),
            ],
            required: [
                "config", "appVersion", "theme", "version", "number", "live", "hash", "themes", "languagesList",
                "mainSettings", "colors", "controllers", "experiments",
            ]))

    static let configDocument: Schema = component(
        "ConfigDocument",
        .object(
            [
                "kind": .string,
                "name": .string,
                "revision": .integer.described("Of the draft."),
                "changed": .time,
                "changedBy": .string.described("`key:<id>` or `staff:<id>`."),
                "lastVersion": .integer.described("0: never published."),
                "liveVersion": .integer.nullable,
                "liveSince": .time.nullable,
                "isChanged": .boolean.described("Whether the draft is not what is live."),
            ]))

    static let experimentResults: Schema = component(
        "ExperimentResults",
        .object(
            [
                "experiment": .string,
                "state": .oneOf("draft", "running", "stopped", "decided"),
                "bucketVersion": .integer,
                "alpha": .number,
                "asOf": .time.nullable,
                "conversions": .object(
                    [
                        "source": .oneOf("analytics"),
                        "problem": .oneOf("unavailable", "too-large", "unusable").nullable.described(
                            "Of some metric: it is as it was known last."),
                        "complete": .boolean.described("False: ask again for what is pending."),
                        "seen": .map(of: .integer).nullable,
                        "multipleExposures": .integer.nullable,
                        "metrics": .map(
                            of: .object(
                                [
                                    "state": .oneOf("current", "pending", "failed"),
                                    "asOf": .time.nullable,
                                    "problem": .oneOf("unavailable", "too-large", "unusable").nullable,
                                ])),
                    ]).nullable.described(
                        "Of metrics that name an event; null: there is none, or nobody was given anything."),
                "units": .map(of: .integer),
                "multipleExposures": .integer,
                "sampleRatioP": .number.nullable,
                "guardRails": .array(
                    of: .object(
                        [
                            "code": .string,
                            "met": .boolean,
                            "message": .string,
                        ])),
                "hint": .object(
                    [
                        "advice": .oneOf("wait", "take", "stay", "distrust"),
                        "variation": .string.nullable,
                        "reason": .string,
                    ]),
                "metrics": .array(of: .object),
                "series": .object,
            ]).described("docs/how-to/test-variants.md explains each member."))

    static let translationEntry: Schema = component(
        "TranslationEntry",
        .object(
            [
                "comment": .string,
                "shouldTranslate": .boolean,
                "localizations": .object,
            ]).described(
                """
                A key as in an Xcode string catalogue: `comment`, `shouldTranslate`, `extractionState`, \
                `localizations`; and `origin`, `markup`.
                """))

    static let translationTable: Schema = component(
        "TranslationTable",
        .object(
            [
                "language": .string,
                "sourceLanguage": .string,
                "fallback": .array(of: .string),
                "strings": .object.described(
                    """
                    A string for each key, or its forms: `plural`, `device`, `width`; with `value` and `substitutions` \
                    where numbers inside have forms.
                    """),
                "languages": .map(of: .string).described("The language of each text that is a fallback's."),
            ]))

    static let configVersion: Schema = component(
        "ConfigVersion",
        .object(
            [
                "kind": .string,
                "name": .string,
                "version": .integer,
                "sha256": .string.described("Of the content."),
                "note": .string,
                "author": .string,
                "origin": .oneOf("publish", "rollback", "promote", "schedule", "import"),
                "sourceVersion": .integer.nullable,
                "published": .time,
                "isLive": .boolean,
                "isNew": .boolean.described("False: this was live already."),
                "content": .object,
                "findings": .array(of: .finding),
            ]))

    static let finding: Schema = component(
        "Finding",
        .object(
            [
                "severity": .oneOf("error", "warning"),
                "code": .string,
                "path": .string.described("JSON Pointer (RFC 6901)."),
                "message": .string,
            ], required: ["severity", "code", "path", "message"]))
}
