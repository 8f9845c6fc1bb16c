import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadObjectUsage: Endpoint {
    static let route = Route(
        .get, "/objects/usage", "readObjectUsage",
        "Returns how many objects the environment has, how much space they take, and their limits.",
        callers: .manager(.read, .storage),
        answers: [
            .answer(200, "The usage and the limits.", .json(.objectUsage))
        ])

    let quota: ObjectQuota

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .encoding(try await quota.usage(of: AppSchema(try context.principal)))
    }
}

/// Not open to the app itself, which could otherwise raise its own limits.
struct SetObjectLimits: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/objects/limits", "setObjectLimits",
        "Limits the number and size of the objects in each of the app's environments.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: """
            A limit that is null or absent is removed. Existing objects beyond a new limit are kept, but no more can \
            be stored. Usage is measured every 15 seconds. Needs the right to update `applications`.
            """,
        body: .json(
            .object(
                [
                    "maximumObjects": .integer.minimum(0).nullable,
                    "maximumBytes": .integer.minimum(0).nullable,
                ])),
        answers: [
            .answer(200, "The usage of the environment in the request, and the new limits.", .json(.objectUsage))
        ])

    private static let range = 0...(1 << 60)

    let quota: ObjectQuota

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        _ = try context.staff(may: .update, .applications, in: principal.appID)
        let body = try await BodyFields(request, ["maximumObjects", "maximumBytes"])
        let limits = ObjectQuota.Limits(
            maximumObjects: try body.integer("maximumObjects", in: Self.range),
            maximumBytes: try body.integer("maximumBytes", in: Self.range))
        try await quota.limit(principal.appID, to: limits)
        return try .encoding(try await quota.usage(of: AppSchema(principal)))
    }
}

extension Schema {
    fileprivate static let objectUsage: Schema = component(
        "ObjectUsage",
        .object(
            [
                "objects": .integer.described("An estimate. Removed objects count until they are deleted for good."),
                "bytes": .integer.described("The size of collections and their indexes on disk."),
                "maximumObjects": .integer.described("Absent if there is no limit."),
                "maximumBytes": .integer.described("Absent if there is no limit."),
            ], required: ["objects", "bytes"]))
}
