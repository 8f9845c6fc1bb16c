import MartletAPI
import MartletCore

/// A Napton app in one document: `app.json` with the models, views and controllers inline in place of their addresses.
struct AppDefinition: Sendable {
    static let maximumParts = 500
    static let maximumRequirements = 200

    /// The clients that get this version: those for whom a flag is on. All others get the version `otherwise`.
    struct Rollout: Sendable, Equatable {
        let flag: String
        let otherwise: Int
    }

    private static let known: Set<String> = [
        "name", "version", "minClient", "root_controller", "requires", "rollout", "models", "views", "controllers",
    ]

    /// All members of the document.
    let members: [JSONValue.Member]
    let models: [JSONValue.Member]
    let views: [JSONValue.Member]
    let controllers: [JSONValue.Member]
    let rootController: String?
    let minClient: VersionNumber?
    /// The kinds and operations that the host app must provide, with their minimum versions.
    let requires: [String: Int]
    let rollout: Rollout?

    /// - Parameter findings: Receives the violations of a definition's structure.
    init(_ document: JSONValue, _ findings: inout [Finding]) {
        var reader = DefinitionReader(document)
        members = reader.members
        models = reader.parts("models")
        views = reader.parts("views")
        controllers = reader.parts("controllers")
        rootController = reader.name("root_controller")
        minClient = reader.version("minClient")
        requires = reader.requirements("requires")
        rollout = reader.rollout("rollout")
        _ = reader.name("name")
        reader.checkNames(Self.known)
        if models.count + views.count + controllers.count > Self.maximumParts {
            reader.findings.append(
                Finding(
                    .error, "too-many-parts", at: "",
                    "An app may have at most \(Self.maximumParts) models, views and controllers."))
        }
        findings += reader.findings
    }

    func view(_ name: String) -> JSONValue? { views.first { $0.name == name }?.value }
}

/// Splits a document into its members and notes what is wrong with them.
private struct DefinitionReader {
    let members: [JSONValue.Member]
    private let document: JSONValue
    var findings: [Finding] = []

    init(_ document: JSONValue) {
        self.document = document
        guard case .object(let members) = document else {
            self.members = []
            findings.append(Finding(.error, "bad-shape", at: "", "Expected an object, found \(document.phrase)."))
            return
        }
        self.members = members
    }

    private mutating func addFinding(
        _ code: String, _ path: String, _ message: String, _ severity: Finding.Severity = .error
    ) {
        findings.append(Finding(severity, code, at: "/" + path, message))
    }

    mutating func parts(_ name: String) -> [JSONValue.Member] {
        guard let value = document[name] else { return [] }
        guard case .object(let parts) = value else {
            addFinding("bad-shape", name, "Expected an object of \(name) by name, found \(value.phrase).")
            return []
        }
        for part in parts where !Self.isName(part.name) {
            addFinding(
                "bad-name", "\(name)/\(JSONPointer.escape(part.name))",
                "A name must be 1 to 64 letters, digits and . _ -, starting with a letter or digit.")
        }
        return parts
    }

    mutating func name(_ name: String) -> String? {
        switch document[name] {
        case .string(let text)? where !text.isEmpty && text.utf8.count <= 200: return text
        case nil: addFinding("missing-member", name, "This member is required: \(name).")
        default: addFinding("bad-shape", name, "Expected a string of 1 to 200 bytes.")
        }
        return nil
    }

    mutating func version(_ name: String) -> VersionNumber? {
        guard let value = document[name] else { return nil }
        if case .string(let text) = value, let version = VersionNumber(text) { return version }
        addFinding("bad-shape", name, "Expected an app's version in quotes, such as \"1.10\", found \(value.phrase).")
        return nil
    }

    mutating func requirements(_ name: String) -> [String: Int] {
        guard let value = document[name] else { return [:] }
        guard let requirements = DefinitionCheck.requirements(value) else {
            addFinding(
                "bad-shape", name,
                "Expected an object from kinds and operations of the host app to their minimum versions, whole numbers."
            )
            return [:]
        }
        return requirements
    }

    mutating func rollout(_ name: String) -> AppDefinition.Rollout? {
        guard let value = document[name] else { return nil }
        guard case .string(let flag)? = value["flag"], case .number(let literal)? = value["otherwise"],
            let version = Int(literal), version > 0,
            case .object(let members) = value, members.count == 2
        else {
            addFinding(
                "bad-shape", name,
                "Expected {\"flag\": a flag's key, \"otherwise\": the version to use if the flag is off}.")
            return nil
        }
        return AppDefinition.Rollout(flag: flag, otherwise: version)
    }

    mutating func checkNames(_ known: Set<String>) {
        for member in members where !known.contains(member.name) {
            addFinding(
                "unknown-member", JSONPointer.escape(member.name),
                "This member of app.json is unknown; it is passed on unchanged.", .warning)
        }
    }

    private static func isName(_ name: String) -> Bool {
        DocumentKey.isName(name) && !name.utf8.contains(UInt8(ascii: "~"))
    }
}
