import MartletHTTP

extension Schema {
    static let liveVersion: Schema = component(
        "LiveVersion",
        .object(
            [
                "version": .string.nullable.described(
                    "The document's own `version`, or else the number of the live version."),
                "date": .time.nullable,
            ], required: ["version", "date"]
        ).described(
            """
            The version that was published last in this environment of the app; its members are null if nothing is live.
            """))

    static let remoteConfiguration: Schema = component(
        "RemoteConfiguration",
        .object(
            [
                "config": .liveVersion,
                "appVersion": .string.described(
                    "The app version of the configuration; it can be lower than the requested one."),
                "theme": .string.nullable,
                "version": .string,
                "number": .integer.minimum(1),
                "live": .boolean,
                "hash": .string.described(
                    "SHA-256 of `languagesList`, `mainSettings`, `colors` and `controllers`, in hexadecimal digits."),
                "themes": .array(of: .string),
                "languagesList": .array(of: .string),
                "mainSettings": .object,
                "colors": .array(of: .object),
                "controllers": .array(of: .object),
                "experiments": .map(of: .string).described(
                    "The variation that the client was given in each experiment."),
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
                "revision": .integer.described("The revision of the draft."),
                "changed": .time,
                "changedBy": .string.described("The author of the draft's last change: `key:<id>` or `staff:<id>`."),
                "lastVersion": .integer.described("The number of the newest version; 0 if none was ever published."),
                "liveVersion": .integer.nullable,
                "liveSince": .time.nullable,
                "isChanged": .boolean.described("Whether the draft differs from the live version, or nothing is live."),
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
                            "Why some metrics could not be updated; they keep their previous values."),
                        "complete": .boolean.described(
                            """
                            False if some metrics are not current; the next request continues with those that are \
                            pending.
                            """
                        ),
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
                        """
                        The state of the metrics that name an event; null if there are none, or no unit was exposed \
                        yet.
                        """
                    ),
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
            ]).described("The guide to testing variants, docs/how-to/test-variants.md, explains each member."))

    static let translationEntry: Schema = component(
        "TranslationEntry",
        .object(
            [
                "comment": .string,
                "shouldTranslate": .boolean,
                "localizations": .object,
            ]).described(
                """
                A key's entry as in an Xcode string catalogue: `comment`, `shouldTranslate`, `extractionState` and \
                `localizations`; in addition `origin` and `markup`.
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
                    For each key a string, or an object of its forms: `plural`, `device` or `width`; or `value` and \
                    `substitutions` if numbers inside the text have forms.
                    """),
                "languages": .map(of: .string).described(
                    "For each key whose text comes from a fallback, the language of that text."),
            ]))

    static let configVersion: Schema = component(
        "ConfigVersion",
        .object(
            [
                "kind": .string,
                "name": .string,
                "version": .integer,
                "sha256": .string.described("SHA-256 of the content, in hexadecimal digits."),
                "note": .string,
                "author": .string,
                "origin": .oneOf("publish", "rollback", "promote", "schedule", "import"),
                "sourceVersion": .integer.nullable,
                "published": .time,
                "isLive": .boolean,
                "isNew": .boolean.described("False if this content was already live, so that no new version was made."),
                "content": .object,
                "findings": .array(of: .finding),
            ]))

    static let finding: Schema = component(
        "Finding",
        .object(
            [
                "severity": .oneOf("error", "warning"),
                "code": .string,
                "path": .string.described("The place in the document, as a JSON Pointer (RFC 6901)."),
                "message": .string,
            ], required: ["severity", "code", "path", "message"]))
}
