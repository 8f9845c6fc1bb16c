import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// The rules of many collections of an environment, as a file: `{"base":"…","access":"closed","collections":{…}}`.
struct AppRules: Sendable {
    static let maximumSizeInBytes = 4 << 20

    /// The revision from which the rules were made (`revision`); nil if it does not matter.
    var base: String?
    /// Nil to leave it as it is.
    var access: SpaceAccess?
    /// Collections that are not named keep their rules.
    var collections: [(name: CollectionName, rules: CollectionRules)]

    /// - Throws: `invalid-body` and `invalid-name`, naming the member.
    init(_ value: JSONValue) throws {
        let body = try BodyFields(value, ["base", "access", "collections"])
        base = try body.string("base")
        access = try body["access"].map { try SpaceAccess($0) }
        let maximum = CollectionStore.maximumCollections
        guard case .object(let members) = body["collections"], members.count <= maximum else {
            let found =
                if case .object(let members) = body["collections"] { "\(members.count)" } else {
                    body["collections"]?.phrase ?? "nothing"
                }
            throw ServiceError(
                .invalidBody, "Expected an object of at most \(maximum) collections, found \(found).",
                field: "collections")
        }
        guard Set(members.map(\.name)).count == members.count else {
            throw ServiceError(.invalidBody, "A name occurs twice.", field: "collections")
        }
        collections = try members.map { member in
            try naming("collections.\(member.name.prefix(64))") {
                let rules = try CollectionRules(member.value)
                try rules.check()
                return (try CollectionName(member.name), rules)
            }
        }
    }

    init(access: SpaceAccess, _ stored: [(name: CollectionName, rules: CollectionRules)]) {
        (self.access, collections) = (access, stored)
        base = Self.revision(of: stored, access)
    }

    /// A digest of all rules of a space. A collection without rules does not count.
    static func revision(
        of stored: [(name: CollectionName, rules: CollectionRules)], _ access: SpaceAccess
    ) -> String {
        var hash = SHA256()
        hash.update(data: Data(access.rawValue.utf8))
        for (name, rules) in stored.sorted(by: { $0.name.text < $1.name.text }) where rules != .none {
            let text = rules.json.text
            hash.update(data: Data("\n\(name.text) \(text.utf8.count) \(text)".utf8))
        }
        return hash.finalize().prefix(16).map { String(format: "%02x", $0) }.joined()
    }

    var json: JSONValue {
        .object(
            [
                base.map { JSONValue.Member("base", .string($0)) },
                access.map { JSONValue.Member("access", .string($0.rawValue)) },
                JSONValue.Member("collections", .object(collections.map { .init($0.name.text, $0.rules.json) })),
            ].compactMap(\.self))
    }

    /// What setting rules changes, or has changed.
    struct Plan: Sendable {
        /// The revision before, for a plan; the new one, for a change.
        var base: String
        /// Whether the rules were made from the revision before.
        var isCurrent: Bool
        var access: (before: SpaceAccess, after: SpaceAccess)
        var changes: [RuleChange]
        var warnings: [RuleReport.Warning]

        var json: JSONValue {
            .object([
                .init("base", .string(base)), .init("isCurrent", .bool(isCurrent)),
                .init(
                    "access",
                    .object([
                        .init("before", .string(access.before.rawValue)),
                        .init("after", .string(access.after.rawValue)),
                    ])),
                .init("changes", .array(changes.map(\.json))), .init("warnings", .array(warnings.map(\.json))),
            ])
        }
    }
}
