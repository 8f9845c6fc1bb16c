import MartletHTTP

extension Schema {
    static let rules: Schema = component(
        "Rules",
        .object(
            [
                "rules": .map(of: .grantees).described(
                    "The grantees of each operation: `find`, `get`, `count`, `create`, `update`, `delete`, `addField`."
                ),
                "hidden": .map(of: .grantees).described(
                    "The grantees that can see each of these top-level fields."),
                "defaults": .object(
                    [
                        "readers": .array(of: .string).maxItems(100),
                        "writers": .array(of: .string).maxItems(100),
                    ]).described(
                        """
                        The readers and writers of an object created without any. `owner` stands for the user who \
                        creates it.
                        """),
                "set": .object(
                    [
                        "create": .map(of: .any).described("When an object is created."),
                        "update": .map(of: .any).described("When an object is updated or replaced."),
                    ]).described(
                        """
                        The values that the server gives to top-level fields when a client writes: JSON, `$user.id`, \
                        `$now`, `$environment` or the operation `Increment`. What clients send for such a field is ignored.
                        """),
                "immutable": .array(of: .string).maxItems(50).described(
                    "Top-level fields that clients can only write when they create an object. Later values are ignored."
                ),
                "warnings": .array(of: .ruleWarning).described("Only in the answer of `setRules`."),
            ]).described(
                """
                Operations without a rule are open to every client in an open environment, and to none in a closed \
                one. A grantee is `*`, `authenticated`, a \
                user's id, `role:<name>`, or `field:<path>` for the users named in that field of the object. An empty \
                list only admits the master key. An entry with a condition can take the place of a grantee.
                """))

    static let ruleWarning: Schema = component(
        "RuleWarning",
        .object(
            [
                "place": .string.described("A rule, such as `rules.find`; in a report, after the collection's name."),
                "message": .string.described("What anyone who has the app may do."),
            ], required: ["place", "message"]))

    private static let ruleCallers: Schema = .array(
        of: .object(
            [
                "who": .string.described("`anyone`, `authenticated`, a user's id or `role:<name>`."),
                "objects": .oneOf("some", "all"),
                "by": .array(of: .string).described(
                    "The entries, such as `rules.find.0` or `hidden.phone.0`, or `no rule`."),
            ], required: ["who", "objects", "by"]))

    static let ruleReport: Schema = component(
        "RuleReport",
        .object(
            [
                "access": .oneOf("closed", "open"),
                "count": .integer.minimum(0),
                "data": .array(
                    of: .object(
                        [
                            "collection": .collectionName,
                            "operations": .map(of: ruleCallers),
                            "hidden": .array(
                                of: .object(
                                    ["field": .string, "readers": ruleCallers], required: ["field", "readers"])),
                        ], required: ["collection", "operations", "hidden"])),
                "warnings": .array(of: .ruleWarning),
            ], required: ["access", "count", "data", "warnings"]))

    static let ruleTest: Schema = component(
        "RuleTest",
        .object(
            [
                "user": .types("string", "null").described("A user's id; null for a caller who is not signed in."),
                "roles": .array(of: .string).maxItems(100).described("The names of the user's roles."),
                "operation": .oneOf("get", "find", "create", "update", "delete"),
                "object": .string.described("The id of a stored object."),
                "document": .object.described("An object that is not stored."),
                "change": .object.described("For `update`: the body of a `PATCH`."),
                "replacement": .object.described("For `update`: the body of a `PUT`."),
            ], required: ["operation"]
        ).closed)

    static let ruleVerdict: Schema = component(
        "RuleVerdict",
        .object(
            [
                "allowed": .boolean,
                "entry": .string.described("The first entry that admits the request, or `no rule`."),
                "code": .string.described(
                    "The code of the answer that a refused request gets; none for a list that omits the object."),
                "nearest": .ruleObstacle.described("The entry that is nearest to admitting the request."),
                "others": .array(of: .ruleObstacle).described("The other obstacles."),
            ], required: ["allowed"]))

    static let ruleObstacle: Schema = component(
        "RuleObstacle",
        .object(
            [
                "entry": .string.described("Such as `rules.find.1`."),
                "failed": .string.described(
                    """
                    `who`, `where` or a member of it such as `where.state`, `fields.<field>`, `new field <field>`, \
                    `no rule`, `empty list`, `_readers`, `_writers`, `hidden.<field>`, `object` for one that does not \
                    exist, or `environment`.
                    """),
            ], required: ["failed"]))

    static let ruleVersion: Schema = component(
        "RuleVersion",
        .object(
            [
                "number": .integer.minimum(1),
                "at": .time,
                "author": .string.described(
                    "The kind and id of the credential; none for rules from before versions were kept."),
                "rules": .rules,
            ], required: ["number", "at"]))

    static let ruleChange: Schema = component(
        "RuleChange",
        .object(
            [
                "collection": .collectionName,
                "place": .string.described("Such as `rules.find` or `hidden.price`."),
                "before": .any.described("Missing if there was no rule."),
                "after": .any.described("Missing if the rule was removed."),
            ], required: ["place"]))

    static let appRules: Schema = component(
        "AppRules",
        .object(
            [
                "base": .string.described("Identifies the state of the rules from which these were made."),
                "access": .oneOf("closed", "open"),
                "collections": .map(of: .rules),
            ], required: ["collections"]
        ).closed)

    static let rulesPlan: Schema = component(
        "RulesPlan",
        .object(
            [
                "base": .string.described("Identifies the state of the rules, for a plan before the change."),
                "isCurrent": .boolean.described("Whether the sent `base` was the state before the change."),
                "access": .object(
                    ["before": .oneOf("closed", "open"), "after": .oneOf("closed", "open")],
                    required: ["before", "after"]),
                "changes": .array(of: .ruleChange),
                "warnings": .array(of: .ruleWarning).described("What the sent rules open to anyone who has the app."),
            ], required: ["base", "isCurrent", "access", "changes", "warnings"]))

    static let ruleSettings: Schema = component(
        "RuleSettings",
        .object(
            [
                "access": .oneOf("closed", "open").described(
                    "What clients may do where no rule says otherwise: nothing, or everything.")
            ], required: ["access"]
        ).closed)

    static let grantees: Schema = component("Grantees", .array(of: .anyOf(.string, .ruleEntry)).maxItems(100))

    static let ruleEntry: Schema = component(
        "RuleEntry",
        .object(
            [
                "who": .array(of: .string).maxItems(100).described(#"Grantees. The default is `["*"]`."#),
                "where": .object.described(
                    """
                    A [Filter](objects.md#filter) that the object must match. Strings that begin with `$` are variables: \
                    `$user.id`, `$user.roles`, `$user.emailVerified`, `$user.<field of the profile>`, `$now`, \
                    `$environment`, and for writes `$old.<path>` and `$new.<path>`.
                    """),
                "through": .map(of: .collectionName).described(
                    """
                    The collections to which the Pointers in dotted names of `where` lead, by path; inside queries of \
                    `Messages`, by `$Messages.<path>`. Taken from stored objects if it is missing.
                    """),
                "fields": .array(of: .string).maxItems(100).described(
                    "For `update`: the top-level fields that a change may contain."),
                "operations": .map(of: .map(of: .array(of: .any).maxItems(100))).described(
                    """
                    For `update`: the fields that a change may contain only with these operations, each with the \
                    allowed values: `{"participants":{"AddUnique":["$user.id"]}}`.
                    """),
            ]))

    static let collectionName: Schema = component(
        "CollectionName", .string.pattern(#"^(_User|[A-Za-z][A-Za-z0-9_-]{0,62})$"#))

    static let collection: Schema = component(
        "Collection",
        .object(
            [
                "name": .collectionName,
                "estimatedCount": .integer.minimum(0).described(
                    "PostgreSQL's estimate, which may be several minutes old."),
                "sizeInBytes": .integer.minimum(0).described("The size including indexes."),
            ], required: ["name", "estimatedCount", "sizeInBytes"]))

    static let newName: Schema = component(
        "NewName",
        .object(
            [
                "name": .collectionName
            ], required: ["name"]))

    static let newIndex: Schema = component(
        "NewIndex",
        .object(
            [
                "name": .string.length(1, 128).described(
                    "The default is the field names joined by `_`, with the kind in front unless it is `ordered`."),
                "fields": .indexFields,
                "unique": .boolean.defaulting(to: false).described(
                    "Whether values must be unique among objects that are not removed. Only for `ordered`."),
                "kind": .oneOf("ordered", "prefix", "text", "geo").defaulting(to: "ordered").described(
                    "Kinds other than `ordered` have exactly one field."),
                "language": .string.defaulting(to: "english").described(
                    "The name of a text search configuration of PostgreSQL. Only for `text`."),
            ], required: ["fields"]))

    static let index: Schema = component(
        "Index",
        .object(
            [
                "name": .string,
                "fields": .indexFields,
                "unique": .boolean,
                "kind": .oneOf("ordered", "prefix", "text", "geo").defaulting(to: "ordered").described(
                    "Kinds other than `ordered` have exactly one field."),
                "language": .string.defaulting(to: "english").described(
                    "The name of a text search configuration of PostgreSQL. Only for `text`."),
                "state": .oneOf("building", "ready", "failed"),
                "error": .object(
                    [
                        "code": .string,
                        "detail": .string,
                    ], required: ["code", "detail"]
                ).described("Why the build failed."),
                "job": .uuid.described("The job that builds the index, or that failed to."),
            ], required: ["name", "kind", "fields", "unique", "state"]))

    static let indexFields: Schema = component(
        "IndexFields",
        .array(of: .string).items(1, 4).described("Fields or dotted paths. A leading `-` means descending order."))
}
