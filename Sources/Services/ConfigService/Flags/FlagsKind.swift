import MartletAPI
import MartletCore
import MartletFlags

/// The typed flags and parameters of a space: one document, `default`, compiled to a `FlagDocument`.
struct FlagsKind: PublishedKind {
    static let key = DocumentKey(.flags, "default")

    var maximumSizeInBytes: Int { 4 << 20 }
    var maximumDocuments: Int { 1 }

    func problem(withName name: String) -> String? {
        name == Self.key.name ? nil : "An environment has only one set of flags, named default."
    }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        var compiler = FlagDocumentCompiler()
        _ = compiler.compile(document)
        return compiler.issues.map(Finding.init)
    }

    func compile(_ document: JSONValue, named name: String) throws -> any Sendable {
        var compiler = FlagDocumentCompiler()
        let flags = compiler.compile(document)
        if let error = compiler.issues.first(where: \.isError) { throw UnreadableFlags(issue: error) }
        return flags
    }

    private struct UnreadableFlags: Error {
        let issue: FlagIssue
    }
}

extension Finding {
    init(_ issue: FlagIssue) {
        self.init(issue.isError ? .error : .warning, issue.code, at: issue.path, issue.message)
    }
}

extension LiveSpace {
    /// A SHA-256, in hexadecimal, that changes with everything that affects flag values: flags and experiments. Nil if
    /// there are no flags.
    var flagsTag: String? {
        guard let flags = self[FlagsKind.key] else { return nil }
        let experiments = documents(of: .experiment)
        guard !experiments.isEmpty else { return flags.sha256 }
        return Credential.hexDigest(
            of: ([flags.sha256] + experiments.map { "\($0.key.name):\($0.version)" }).joined(separator: "\n"))
    }

    /// The live flags; nil if none were published.
    var flags: (document: LiveDocument, flags: FlagDocument)? {
        guard let document = self[FlagsKind.key], let flags = document.compiled as? FlagDocument else { return nil }
        return (document, flags)
    }
}
