import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Atomic unless `partial` is true, and idempotent for users with an id.
///
/// - Throws: `invalid-body` with `rows` if a user is refused and neither `partial` nor `dryRun` is true.
struct ImportUsers: Endpoint {
    static let route = Route(
        .post, "/auth/users/import", "importUsers",
        "Imports users of another server with their password hashes.", callers: .manager(.create, .users),
        details: """
            Each user needs `userName` or `email`. All users are created or none, unless `partial` is true: then \
            every valid user is created. A user whose `id` already exists is left unchanged and reported as \
            `existing`, so that the call can be repeated. With `dryRun` nothing is stored, and the answer says \
            what the import would do.
            """,
        body: .json(
            .object(
                [
                    "users": .array(
                        of: .object(
                            [
                                "id": .uuid,
                                "userName": .string,
                                "email": .string.format("email"),
                                "emailVerified": .boolean,
                                "passwordHash": .string,
                                "profile": .object,
                                "private": .object,
                                "created": .time,
                            ])
                    ).items(1, 100),
                    "dryRun": .boolean,
                    "partial": .boolean,
                ])),
        answers: [
            .answer(
                200, "The outcome for each user.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "created": .integer,
                            "existing": .integer,
                            "refused": .integer,
                            "dryRun": .boolean,
                            "data": .array(
                                of: .object(
                                    [
                                        "row": .integer,
                                        "id": .uuid,
                                        "state": .oneOf("created", "existing", "refused"),
                                        "field": .string,
                                        "reason": .string,
                                    ], required: ["row", "state"])),
                        ])))
        ])

    static let maximumCount = 100
    /// The profiles of one user may take 32 KiB.
    private static let maximumSizeInBytes = 4 << 20

    let imports: ImportStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let fields = try await BodyFields(request, ["users", "dryRun", "partial"], upTo: Self.maximumSizeInBytes)
        let (isDryRun, isPartial) = (try fields.flag("dryRun") ?? false, try fields.flag("partial") ?? false)
        guard case .array(let elements)? = fields["users"], (1...Self.maximumCount).contains(elements.count) else {
            throw ServiceError(
                .invalidBody, "Expected an array of 1 to \(Self.maximumCount) users.", field: "users")
        }
        let rows = try elements.enumerated().map { try read($1, row: $0) }
        let users = rows.enumerated().compactMap { row, result in (try? result.get()).map { (row: row, user: $0) } }
        let isComplete = users.count == rows.count
        let outcomes = try await imports.run(users, in: space) { outcomes in
            !isDryRun && (isPartial || (isComplete && outcomes.allSatisfy { !$0.isRefused }))
        }
        let report = Report(rows, outcomes, isDryRun: isDryRun)
        let refused = report.data.compactMap(\.refusal)
        guard refused.isEmpty || isDryRun || isPartial else {
            let field = refused.first.map {
                ["users", String($0.row), $0.field].compactMap(\.self).joined(separator: ".")
            }
            throw ServiceError(
                .invalidBody, "\(refused.count) of \(rows.count) users were refused; no user was created.",
                field: field,
                rows: refused)
        }
        return try .encoding(report)
    }

    private func read(_ value: JSONValue, row: Int) throws -> Result<ImportedUser, RowRefusal> {
        do {
            return .success(try ImportedUser(value, now()))
        } catch let problem as ServiceError {
            return .failure(
                RowRefusal(
                    row: Problem.Row(row: row, field: problem.field, reason: problem.detail ?? problem.code.title)))
        }
    }

    fileprivate struct RowRefusal: Error {
        let row: Problem.Row
    }

    fileprivate struct Report: Encodable {
        struct Line: Encodable {
            var row: Int
            var id: String?
            var state: String
            var field: String?
            var reason: String?

            var refusal: Problem.Row? { reason.map { Problem.Row(row: row, field: field, reason: $0) } }
        }

        var count: Int
        var created = 0
        var existing = 0
        var refused = 0
        var dryRun: Bool
        var data: [Line] = []

        /// - Parameter outcomes: The outcomes of the rows that are valid, in the same order.
        init(_ rows: [Result<ImportedUser, RowRefusal>], _ outcomes: [ImportStore.Outcome], isDryRun: Bool) {
            (count, dryRun) = (rows.count, isDryRun)
            var rest = outcomes[...]
            for (row, result) in rows.enumerated() {
                switch result {
                case .failure(let refusal): add(row, nil, .refused(refusal.row))
                case .success(let imported):
                    if let outcome = rest.popFirst() { add(row, imported.user.id, outcome) }
                }
            }
        }

        private mutating func add(_ row: Int, _ id: UUID?, _ outcome: ImportStore.Outcome) {
            switch outcome {
            case .created:
                created += 1
                data.append(Line(row: row, id: id?.uuidString.lowercased(), state: "created"))
            case .existing:
                existing += 1
                data.append(Line(row: row, id: id?.uuidString.lowercased(), state: "existing"))
            case .refused(let problem):
                refused += 1
                data.append(Line(row: row, state: "refused", field: problem.field, reason: problem.reason))
            }
        }
    }
}

extension ImportStore.Outcome {
    fileprivate var isRefused: Bool { if case .refused = self { true } else { false } }
}

extension ImportedUser {
    /// - Throws: `invalid-body`, naming the member.
    fileprivate init(_ value: JSONValue, _ now: Date) throws {
        let fields = try BodyFields(
            value, ["id", "userName", "email", "emailVerified", "passwordHash", "profile", "private", "created"])
        let (userName, email) = try fields.userNameOrEmail()
        user = NewUser(userName: userName, email: email)
        if let text = try fields.string("id") {
            guard let id = UUID(uuidString: text) else {
                // Not quoted: other systems use mail addresses as ids.
                throw ServiceError(.invalidBody, "Expected a UUID.", field: "id")
            }
            user.id = id
        }
        user.passwordHash = try fields.string("passwordHash").map { try ImportedPasswordHash($0).text }
        user.profile = try fields.profile() ?? "{}"
        user.privateProfile = try fields.privateProfile() ?? "{}"
        isEmailVerified = try fields.flag("emailVerified") ?? false
        guard !isEmailVerified || email != nil else {
            throw ServiceError(
                .invalidBody, "A user without an address cannot have a verified one.", field: "emailVerified")
        }
        created = try fields.string("created").map { try Self.date($0, now) }
    }

    private static func date(_ text: String, _ now: Date) throws -> Date {
        guard let date = Date(rfc3339: text), date >= Date(timeIntervalSince1970: 0), date <= now else {
            throw ServiceError.unexpectedMember(
                "created", expected: "a time in the past since 1970, such as 2026-11-21T08:48:59Z", found: text)
        }
        return date
    }
}
