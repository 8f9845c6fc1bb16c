import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// A request that the app's developer tries against the rules.
struct RuleTest: Sendable {
    enum Operation: String, CaseIterable, Sendable {
        case get, find, create, update, delete

        var rule: CollectionRules.Operation {
            switch self {
            case .get: .get
            case .find: .find
            case .create: .create
            case .update: .update
            case .delete: .delete
            }
        }
    }

    /// The object that is read, changed or deleted.
    enum Subject: Sendable {
        case stored(ObjectID)
        /// One that is not stored.
        case document(Document)
    }

    enum Change: Sendable {
        /// Of fields, as by `PATCH`.
        case fields(Document)
        /// The whole object, as by `PUT`.
        case replacement(Document)
    }

    /// Nil for a caller without a user.
    let user: UserID?
    /// Nil for the roles that the user has.
    let roles: [String]?
    let operation: Operation
    let subject: Subject
    /// Nil for operations other than `update`.
    let change: Change?

    static let members: Set<String> = ["user", "roles", "operation", "object", "document", "change", "replacement"]
    private static let maximumRoles = 100

    /// - Throws: `invalid-body` naming a member, and the errors of `Document` and `ObjectID`.
    init(_ body: JSONValue) throws {
        let body = try BodyFields(body, Self.members)
        user = try body.string("user").map { text in
            guard let user = UserID(text) else {
                throw ServiceError.unexpectedMember("user", expected: "a user's id, or null for nobody", found: text)
            }
            return user
        }
        roles = try body.strings("roles", upTo: Self.maximumRoles)
        guard roles?.allSatisfy(Grantee.isRoleName) != false, user != nil || roles == nil else {
            throw ServiceError(.invalidBody, "Expected names of roles, and a user who has them.", field: "roles")
        }
        operation = try body.requiredChoice("operation")
        subject = try Self.readSubject(body, of: operation)
        change = try Self.readChange(body)
        guard (change != nil) == (operation == .update) else {
            throw ServiceError(
                .invalidBody,
                """
                A "change" or a "replacement" is required for update, and not allowed for other operations.
                """, field: "change")
        }
    }

    private static func readSubject(_ body: BodyFields, of operation: Operation) throws -> Subject {
        switch (try body.string("object"), try document(body, "document", allowingOperations: operation == .create)) {
        case (let id?, nil) where operation != .create:
            do { return .stored(try ObjectID(id)) } catch let problem as ServiceError {
                throw ServiceError(problem.code, problem.detail, field: "object")
            }
        case (nil, let document?): return .document(document)
        default:
            throw ServiceError(
                .invalidBody,
                operation == .create
                    ? "Expected the new object, a \"document\"."
                    : "Expected either the id of an \"object\" or a \"document\".",
                field: operation == .create ? "document" : "object")
        }
    }

    private static func readChange(_ body: BodyFields) throws -> Change? {
        let fields = try document(body, "change", allowingOperations: true)
        let replacement = try document(body, "replacement", allowingOperations: false)
        guard fields == nil || replacement == nil else {
            throw ServiceError(
                .invalidBody, "Expected either a change or a replacement, found both.", field: "replacement")
        }
        return fields.map(Change.fields) ?? replacement.map(Change.replacement)
    }

    private static func document(_ body: BodyFields, _ name: String, allowingOperations: Bool) throws -> Document? {
        guard let value = body[name], value != .null else { return nil }
        return try naming(name) {
            try Document(ByteBuffer(string: value.text), allowingOperations: allowingOperations)
        }
    }

    /// How the rules decide about the request.
    struct Verdict: Encodable, Sendable {
        var allowed: Bool
        /// The first entry that admits the request, or `no rule`.
        var entry: String?
        /// The code of the answer that the request would get; nil for a list that omits the object.
        var code: String?
        /// The entry that was nearest to admitting it.
        var nearest: Obstacle?
        /// The other obstacles.
        var others: [Obstacle]?
    }

    /// Something that keeps a request from being allowed.
    struct Obstacle: Encodable, Sendable, Equatable {
        /// Nil if the obstacle is not part of an entry.
        var entry: String?
        /// A part of the entry, such as `where.state`, or what else keeps the request from being allowed.
        var failed: String
    }
}
