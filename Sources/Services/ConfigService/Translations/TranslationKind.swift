import MartletAPI
import MartletCore
import MartletLocalization

/// The texts of an app version in all its languages: a document is a `Catalogue` named after the app version.
struct TranslationKind: PublishedKind {
    var maximumSizeInBytes: Int { LocalizationLimits.documentSizeInBytes }

    func problem(withName name: String) -> String? {
        name.contains("~") ? "Translations must be named after the app version, without ~." : nil
    }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        do {
            return Lint.findings(in: try Catalogue(document)).map(Finding.init)
        } catch let fault as LocalizationFault {
            return [Finding(fault)]
        } catch {
            return [Finding(.error, "invalid-catalogue", at: "", "\(error)")]
        }
    }

    func compile(_ document: JSONValue, named name: String) throws -> any Sendable {
        TranslationTables(try Catalogue(document))
    }
}

extension Finding {
    init(_ finding: LintFinding) {
        self.init(finding.isError ? .error : .warning, finding.code.rawValue, at: finding.path, finding.message)
    }

    init(_ fault: LocalizationFault) {
        self.init(.error, "invalid-catalogue", at: fault.place, fault.reason)
    }
}
