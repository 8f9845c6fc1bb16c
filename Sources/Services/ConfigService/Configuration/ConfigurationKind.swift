import MartletCore
import MartletFlags

/// Remote configurations: colours, settings and what is on the screens of an app version, perhaps in a theme.
struct ConfigurationKind: PublishedKind {
    let maximumSizeInBytes = 1 << 20

    func problem(withName name: String) -> String? {
        guard ConfigurationName(name) == nil else { return nil }
        return "A configuration is named by the app version it is for, 1.2.0, or by that and a theme, 1.2.0~Dark."
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
