import MartletAPI
import MartletHTTP

/// What an app says about who may do what in a collection; everything absent is open to every client.
///
/// A grantee is `*`, `authenticated`, a user's id, `role:<name>` or `field:<path>`: whoever the object's field names, by id, by a
/// pointer, or in a list of these. An empty list leaves an operation to the master key.
struct CollectionRules: Codable, Sendable, Equatable {
    enum Operation: String, Codable, Sendable, CaseIterable {
        case find, get, count, create, update, delete, addField
    }

    /// Readers and writers of an object created without any; `owner` stands for the user who creates it.
    struct Defaults: Codable, Sendable, Equatable {
        var readers: [String]?
        var writers: [String]?
    }

    /// Operation → grantees.
    var rules: [String: [String]]?
    /// Top-level field → the grantees that see it.
    var hidden: [String: [String]]?
    var defaults: Defaults?

    static let open = CollectionRules()

    func grantees(_ operation: Operation) -> [String]? { rules?[operation.rawValue] }

    /// Fields that say whose an object is: by which users may change or delete it, where not everybody may change it.
    var ownerFields: [FieldPath] {
        func open(_ names: [String]) -> Bool { names.contains("*") || names.contains("authenticated") }
        guard let changing = grantees(.update), !open(changing) else { return [] }
        let deleting = grantees(.delete).flatMap { open($0) ? nil : $0 } ?? []
        let names = Set((changing + deleting).filter { $0.hasPrefix("field:") })
        return names.sorted().compactMap { try? FieldPath(String($0.dropFirst(6))) }
    }

    /// - Throws: `invalid-body` naming the field.
    func check() throws {
        for (name, grantees) in rules ?? [:] {
            guard let operation = Operation(rawValue: name) else {
                throw HTTPProblem(.invalidBody, "This operation is not known.", field: "rules.\(name)")
            }
            try Self.check(grantees, allowingFields: operation != .addField, field: "rules.\(name)")
        }
        guard (hidden ?? [:]).count <= 50 else {
            throw HTTPProblem(.limitExceeded, "At most 50 fields can be hidden.", field: "hidden")
        }
        for (name, grantees) in hidden ?? [:] {
            guard SystemField(rawValue: name) == nil, let path = try? FieldPath(name), path.parts.count == 1 else {
                throw HTTPProblem(.invalidBody, "Only top-level fields of the document can be hidden.", field: "hidden.\(name)")
            }
            try Self.check(grantees, allowingFields: true, field: "hidden.\(name)")
        }
        for (name, list) in [("readers", defaults?.readers), ("writers", defaults?.writers)] {
            _ = try Grantee.checked((list ?? []).filter { $0 != "owner" }, field: "defaults.\(name)")
        }
    }

    private static func check(_ grantees: [String], allowingFields: Bool, field: String) throws {
        guard grantees.count <= Grantee.maximumListed else {
            throw HTTPProblem(.limitExceeded, "At most \(Grantee.maximumListed) can be listed.", field: field)
        }
        for grantee in grantees where grantee != "*" && grantee != "authenticated" && !Grantee.isUserOrRole(grantee) {
            guard allowingFields, grantee.hasPrefix("field:"), (try? FieldPath(String(grantee.dropFirst(6)))) != nil else {
                throw HTTPProblem(
                    .invalidBody, "A grantee is \"*\", \"authenticated\", a user's id, \"role:<name>\" or \"field:<path>\".", field: field)
            }
        }
    }
}
