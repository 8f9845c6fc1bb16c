import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// The recipients of a rule. In JSON, `to` is a list of sources, and `except` is a list of paths to users who are
/// excluded:
///
///     "to": [{"field": "object.participants"},
///            {"field": "owner", "of": {"collection": "Bikes", "id": "object.bikeId"}},
///            {"user": "ann"}, {"channel": "event-{{object.event}}"}, {"installation": "…"}, {"audience": {…}}],
///     "except": ["actor"]
struct Recipients: Sendable {
    static let maximumSources = 20
    static let maximumUsers = 10_000

    enum Source: Sendable, Equatable {
        /// A path in the rule's facts. The value there is a user id, a list of ids, pointers to users, or a relation to
        /// users.
        case field(path: String)
        /// Like `field`, but `path` is in objects of `collection` whose ids are at the path `id` in the facts.
        case related(path: String, collection: String, id: String)
        case user(String)
        /// A channel name, which may contain placeholders.
        case channel(String)
        case installation(UUID)
        /// An audience as in a message. It must be the only source.
        case audience(JSONValue)
    }

    var sources: [Source]
    var except: [String]

    var isEmpty: Bool { sources.isEmpty }

    var readsObjects: Bool { sources.contains { if case .related = $0 { true } else { false } } }

    /// - Throws: `invalid-body`.
    init(to: JSONValue?, except: JSONValue?) throws {
        switch to {
        case nil, .null: sources = []
        case .array(let elements) where (1...Self.maximumSources).contains(elements.count):
            sources = try elements.map(Self.source)
        default:
            throw ServiceError(.invalidBody, "Expected an array of 1 to \(Self.maximumSources) sources.", field: "to")
        }
        let isAudience = sources.contains { if case .audience = $0 { true } else { false } }
        guard !isAudience || sources.count == 1 else {
            throw ServiceError(.invalidBody, "An audience must be the only source.", field: "to")
        }
        switch except {
        case nil, .null: self.except = []
        case .array(let paths) where paths.count <= Self.maximumSources:
            self.except = try paths.map { path in
                guard case .string(let text) = path else {
                    throw ServiceError(.invalidBody, "Expected an array of paths such as actor.", field: "except")
                }
                return try Self.path(text, "except")
            }
        default: throw ServiceError(.invalidBody, "Expected an array of paths such as actor.", field: "except")
        }
        guard self.except.isEmpty || !isAudience else {
            throw ServiceError(
                .invalidBody, "This is not allowed with an audience; use the except of the audience.", field: "except")
        }
    }

    private static func source(_ json: JSONValue) throws -> Source {
        guard let fields = try? BodyFields(json, ["field", "of", "user", "channel", "installation", "audience"]),
            case .object(let members) = json
        else {
            throw refusal
        }
        switch Set(members.map(\.name)) {
        case ["field"]: return .field(path: try path(try fields.requiredString("field"), "to.field"))
        case ["field", "of"]:
            guard let of = try? BodyFields(fields["of"] ?? .null, ["collection", "id"]) else { throw refusal }
            return .related(
                path: try path(try fields.requiredString("field"), "to.field"),
                collection: try RuleTrigger.checked(try of.requiredString("collection"), field: "to.of.collection"),
                id: try path(try of.requiredString("id"), "to.of.id"))
        case ["user"]: return .user(try text(try fields.requiredString("user"), "to.user"))
        case ["channel"]: return .channel(try text(try fields.requiredString("channel"), "to.channel"))
        case ["installation"]:
            guard let id = UUID(uuidString: try fields.requiredString("installation")) else { throw refusal }
            return .installation(id)
        case ["audience"]:
            guard case .object = fields["audience"] else { throw refusal }
            return .audience(fields["audience"] ?? .null)
        default: throw refusal
        }
    }

    private static let refusal = ServiceError(
        .invalidBody,
        #"Expected one of {"field"}, {"field","of":{"collection","id"}}, {"user"}, {"channel"}, {"installation"} and {"audience"}."#,
        field: "to")

    private static func text(_ text: String, _ field: String) throws -> String {
        guard (1...200).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ServiceError(.invalidBody, "Expected 1 to 200 bytes.", field: field)
        }
        return text
    }

    private static func path(_ path: String, _ field: String) throws -> String {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...200).contains(path.utf8.count), parts.count <= 8, parts.allSatisfy({ !$0.isEmpty }),
            !path.utf8.contains(0)
        else {
            throw ServiceError.unexpectedMember(field, expected: "a path such as object.owner", found: path)
        }
        return path
    }
}
