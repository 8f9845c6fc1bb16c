import Foundation
import MartletCore
import MartletFlags
import NIOCore
import Synchronization

/// A configuration prepared for serving: its compiled conditions and a cache of answers.
final class CompiledConfiguration: Sendable {
    static let maximumAnswers = 64
    static let maximumSizeInBytes = 4 << 20

    struct Override: Sendable {
        let condition: Condition
        let patch: JSONValue
    }

    /// The parameters that distinguish one answer from another.
    struct Variant: Sendable, Hashable {
        /// The indices of the overrides that apply, in order.
        var overrides: [Int]
        var themes: [String]
        /// A JSON object from experiment to variation.
        var experiments: String
    }

    /// The document's own version, if it has one.
    let version: String?
    /// The user attributes that overrides depend on.
    let needs: UserAttributes.Needs
    private let overrides: [Override]
    private let answers = Mutex(Answers())

    private struct Answers {
        var known: [Variant: StoredContent] = [:]
        var sizeInBytes = 0
    }

    init(version: String?, overrides: [Override]) {
        self.version = version
        self.overrides = overrides
        needs = overrides.reduce(.init()) { $0 | $1.condition.needs }
    }

    var hasOverrides: Bool { !overrides.isEmpty }

    /// The indices of the overrides that apply to these attributes.
    func matches(_ attributes: FlagAttributes) -> [Int] {
        overrides.isEmpty ? [] : overrides.indices.filter { overrides[$0].condition.matches(attributes) }
    }

    func answer(_ variant: Variant, of live: LiveDocument, named name: ConfigurationName) throws -> StoredContent {
        if let known = answers.withLock({ $0.known[variant] }) { return known }
        let made = StoredContent(Array(try text(variant, of: live, named: name).utf8))
        let size = made.sizeInBytes
        answers.withLock { answers in
            if answers.known.count >= Self.maximumAnswers || answers.sizeInBytes + size > Self.maximumSizeInBytes {
                answers = Answers()
            }
            if answers.known.updateValue(made, forKey: variant) == nil { answers.sizeInBytes += size }
        }
        return made
    }

    private func text(_ variant: Variant, of live: LiveDocument, named name: ConfigurationName) throws -> String {
        var document = try JSONValue(parsing: live.content.readableBytesView)
        for index in variant.overrides { document = ConfigurationPatch.apply(overrides[index].patch, to: document) }
        let shown = ["languagesList", "mainSettings", "colors", "controllers"].map { part in
            JSONValue.quote(part) + ":" + (document[part] ?? (part == "mainSettings" ? .object([]) : .array([]))).text
        }.joined(separator: ",")
        let (version, date) = (
            JSONValue.quote(version ?? "\(live.version)"), JSONValue.quote(live.published.rfc3339)
        )
        let head = [
            #""config":{"version":\#(version),"date":\#(date)}"#, #""appVersion":\#(JSONValue.quote(name.appVersion))"#,
            #""theme":\#(name.theme.map { JSONValue.quote($0) } ?? "null")"#, #""version":\#(version)"#,
            #""number":\#(live.version)"#,
            #""live":true"#,
            #""hash":"\#(Credential.hexDigest(of: shown))""#,
            #""themes":[\#(variant.themes.map { JSONValue.quote($0) }.joined(separator: ","))]"#,
        ].joined(separator: ",")
        return "{\(head),\(shown),\"experiments\":\(variant.experiments)}"
    }
}
