import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// Contains no saved groups, descriptions, names of conditions or other flags.
struct ReadFlagRules: Endpoint {
    static let route = Route(
        .get, "/flags/rules", "readFlagRules", "Returns the rules of the flags that devices evaluate themselves.",
        callers: .client,
        parameters: [
            .generation,
            .header("If-None-Match", .string, "The `ETag` of an earlier answer."),
        ],
        details: """
            Only flags with `"localEvaluation": true`. The server evaluates them, too; a device that does not \
            understand a rule uses the server's value.

            The first rule that applies decides. A rule applies if `condition` matches, the subject is in all \
            `filters` and its hash is in one of the `ranges`, whose position chooses the variation. Without `ranges`, \
            it is the first variation. A variation without a value leaves the decision to the next rule.
            """,
        answers: [
            .answer(
                200,
                """
                The flags by key. `version` is null if no flags are live. A device ignores a `format` that it does not \
                know.
                """,
                .json(
                    .object(
                        [
                            "format": .integer,
                            "version": .integer.nullable,
                            "flags": .map(
                                of: .object(
                                    [
                                        "value": .any, "variant": .string, "reason": .oneOf("STATIC", "UNKNOWN"),
                                        "rules": .array(of: .object),
                                    ], required: ["value", "variant", "reason", "rules"])),
                        ], required: ["format", "version", "flags"]))
            ).header("ETag"),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ])

    let live: LiveDocuments
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space, reaching: request.generation)
        return try .stored(space.derived { LocalFlags($0) }.answer(at: now()), to: request)
    }
}
