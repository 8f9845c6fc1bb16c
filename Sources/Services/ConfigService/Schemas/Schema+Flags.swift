import MartletHTTP

extension Schema {
    static let evaluatedFlag: Schema = component(
        "EvaluatedFlag",
        .object(
            [
                "key": .string,
                "value": .any.described("The value as written in the document: 1.0 stays 1.0."),
                "reason": .oneOf("STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN"),
                "variant": .string,
                "metadata": .object(
                    [
                        "rule": .string
                    ]),
            ], required: ["key", "value", "reason", "variant"]))
}
