import MartletAPI
import MartletCore
import MartletFlags
import NIOCore

/// App definitions: how they are checked before publication and compiled for clients.
struct DefinitionKind: PublishedKind {
    static let maximumPartSizeInBytes = 64 << 10

    let maximumSizeInBytes = 1 << 20
    let maximumDocuments = 100

    func problem(withName name: String) -> String? {
        name.utf8.contains(UInt8(ascii: "~")) ? "The name of an app definition must not contain ~." : nil
    }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        var ignored: [Finding] = []
        let app = AppDefinition(document, &ignored)
        var check = DefinitionCheck(document, translations: LiveTranslations(in: space, from: app.minClient))
        var findings = check.run()
        if let flag = app.rollout?.flag, space.flags?.flags.flags.contains(where: { $0.key == flag }) != true {
            findings.append(
                Finding(
                    .warning, "unknown-flag", at: "/rollout/flag",
                    "No flag named \"\(flag)\" is live, so everyone gets the version that \"otherwise\" names."))
        }
        for part in CompiledDefinition(app).parts
        where (part.gzip ?? part.content).readableBytes > Self.maximumPartSizeInBytes {
            findings.append(
                Finding(
                    .error, "part-too-large", at: "/" + part.path,
                    "A part may have at most \(Self.maximumPartSizeInBytes) bytes after compression."))
        }
        return findings
    }

    func compile(_ document: JSONValue, named name: String) throws -> any Sendable {
        var findings: [Finding] = []
        let app = AppDefinition(document, &findings)
        if let error = findings.first(where: { $0.severity == .error }) {
            throw UnreadableDefinition(description: "\(error.path): \(error.message)")
        }
        return CompiledDefinition(app)
    }

    func pins(_ document: JSONValue, named name: String) -> [PinnedVersion] {
        var ignored: [Finding] = []
        guard let rollout = AppDefinition(document, &ignored).rollout else { return [] }
        return [PinnedVersion(key: DocumentKey(.definition, name), version: rollout.otherwise)]
    }
}

struct UnreadableDefinition: Error, CustomStringConvertible {
    let description: String
}
