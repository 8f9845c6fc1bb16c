import MartletCore
import MartletFlags

/// Remote configurations: the colours, settings and screen contents of an app version, optionally for a theme.
struct ConfigurationKind: PublishedKind {
    let maximumSizeInBytes = 1 << 20

    func problem(withName name: String) -> String? {
        guard ConfigurationName(name) == nil else { return nil }
        return
            "A configuration must be named after its app version, such as 1.2.0, or its app version and theme, such as 1.2.0~Dark."
    }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        guard let name = ConfigurationName(name) else { return [] }
        return ConfigurationCheck.findings(in: document, named: name, catalogue: .builtIn)
    }

    func compile(_ document: JSONValue, named name: String) throws -> any Sendable {
        var compiler = ConditionCompiler()
        let overrides = (document["overrides"]?.elements ?? []).map { override in
            CompiledConfiguration.Override(
                condition: compiler.compile(override["when"] ?? .null), patch: override["patch"] ?? .object([]))
        }
        return CompiledConfiguration(version: document["version"]?.string, overrides: overrides)
    }
}
