import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadHealth: Endpoint {
    static let route = Route(
        .get, "/admin/health", "readHealth",
        "Checks whether the services and the database work, and lists the last backups.",
        callers: .staff(.read, .status),
        details: """
            A part that does not answer within two seconds is not ready. If a service has several copies, one of them \
            is checked. A service without `waitingJobs` has no jobs. `database` is missing if the database does not \
            answer, `backup` if `martlet backup` has not run on this machine, and `appBackups` if `martlet app backup` \
            keeps no archives there.
            """,
        answers: [
            .answer(200, "The state of each part.", .json(.serverHealth))
        ])

    let health: ServerHealth

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .encoding(await health.report())
    }
}

extension Schema {
    private static let proof: Schema = .object(
        ["id": .string, "time": .time, "result": .string, "seconds": .number],
        required: ["id", "time", "result", "seconds"])

    fileprivate static let serverHealth: Schema = component(
        "ServerHealth",
        .object(
            [
                "services": .array(
                    of: .object(
                        [
                            "name": .string,
                            "isReady": .boolean,
                            "version": .string,
                            "milliseconds": .number.described("How long the service took to answer."),
                            "waitingJobs": .integer.described("Jobs that are due and waiting, at most 10,000."),
                        ], required: ["name", "isReady"])),
                "database": .object(
                    [
                        "version": .string,
                        "sizeInBytes": .integer,
                        "connections": .integer,
                        "maximumConnections": .integer,
                        "milliseconds": .number,
                    ], required: ["version", "connections", "maximumConnections", "milliseconds"]),
                "backup": .object(
                    [
                        "backups": .array(
                            of: .object(
                                [
                                    "id": .string,
                                    "type": .oneOf("full", "diff", "incr"),
                                    "time": .time,
                                    "sizeInBytes": .integer,
                                ], required: ["type", "time", "sizeInBytes"])
                        ).described("The newest first, at most 20."),
                        "proof": proof.described("The last test of restoring a backup."),
                        "runs": .array(
                            of: .object(
                                [
                                    "command": .oneOf("now", "files", "verify"),
                                    "time": .time.described("When it ended."),
                                    "seconds": .number,
                                    "result": .oneOf("good", "failed", "cancelled"),
                                ], required: ["command", "time", "seconds", "result"])
                        ).described("The newest first, at most 50. Of successful `files` runs, only the last one."),
                    ], required: ["backups"]),
                "appBackups": .array(
                    of: .object(
                        [
                            "app": .string,
                            "archives": .integer.described("How many archives are kept."),
                            "time": .time.described("When the last archive was made."),
                            "sizeInBytes": .integer.described("Of the last archive."),
                            "lastRun": .time,
                            "lastResult": .oneOf("good", "failed", "cancelled"),
                            "proof": proof.described("The last test of restoring an archive."),
                        ], required: ["app", "archives", "lastRun", "lastResult"])
                ).described("The app with the newest run first, at most 100."),
            ], required: ["services"]))
}
