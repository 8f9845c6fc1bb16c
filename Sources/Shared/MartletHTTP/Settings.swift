import Configuration
public import Foundation
public import MartletCore
import SystemPackage

/// A process's configuration: flags (`--http-port 80`), then environment (`MARTLET_HTTP_PORT`), then the JSON file
/// named by `MARTLET_CONFIG_FILE` (`{"http":{"port":80}}`).
///
/// Keys are dotted (`http.port`). An empty variable counts as not set. An invalid value stops the process with an error
/// that names its key.
public struct Settings: Sendable {
    private let reader: ConfigReader

    /// - Throws: `SettingsError` if the file cannot be read.
    public init(
        arguments: [String] = CommandLine.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws {
        let environment = environment.filter { !$0.value.isEmpty }
        var providers: [any ConfigProvider] = [
            CommandLineArgumentsProvider(arguments: arguments),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "martlet"),
        ]
        if let path = environment["MARTLET_CONFIG_FILE"] {
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(path)))
            } catch {
                throw SettingsError(key: "config.file", problem: "names a file that is not readable JSON")
            }
        }
        self.reader = ConfigReader(providers: providers)
    }

    /// Refuses unknown settings, because a misspelled one would be ignored without notice: flags that `process` does
    /// not have, and variables and file members that no process has.
    ///
    /// - Throws: ``UnknownSetting``, which suggests the most similar name.
    static func refuseUnknown(
        of process: String, arguments: [String] = CommandLine.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        let keys = SettingNames.byProcess[process] ?? []
        for argument in arguments.dropFirst() where argument.hasPrefix("--") {
            let name = String(argument.prefix { $0 != "=" })
            let flags = keys.map { "--" + $0.split(separator: ".").joined(separator: "-") }
            guard flags.contains(name) else {
                throw UnknownSetting(
                    description: "\(name) is not a flag of \(process)." + NearMiss.question(for: name, among: flags))
            }
        }
        for name in environment.keys.sorted() where name.hasPrefix("MARTLET_") && !SettingNames.isKnown(variable: name)
        {
            throw UnknownSetting(description: SettingNames.refusal(variable: name))
        }
        guard let path = environment["MARTLET_CONFIG_FILE"], let data = FileManager.default.contents(atPath: path),
            let object = try? JSONSerialization.jsonObject(with: data)
        else { return }
        let known = Set(SettingNames.byProcess.values.joined())
        for key in Self.keys(of: object, below: "") where !known.contains(key) {
            throw UnknownSetting(
                description: "\(key) in \(path) is not a setting of Martlet."
                    + NearMiss.question(for: key, among: known))
        }
    }

    /// The dotted keys of all values in the file that are not objects.
    private static func keys(of value: Any, below prefix: String) -> [String] {
        guard let members = value as? [String: Any] else { return [prefix] }
        return members.keys.sorted().flatMap {
            keys(of: members[$0] as Any, below: prefix.isEmpty ? $0 : "\(prefix).\($0)")
        }
    }

    public func string(_ key: String, default: String) -> String {
        text(key) ?? `default`
    }

    public func optionalString(_ key: String) -> String? {
        text(key)
    }

    public func requiredString(_ key: String) throws -> String {
        guard let value = text(key) else { throw SettingsError(key: key, problem: "is required") }
        return value
    }

    /// A value that never appears in logs or errors.
    public func requiredSecret(_ key: String, minimumLength: Int = 1) throws -> Secret {
        let value = try requiredString(key)
        guard value.utf8.count >= minimumLength else {
            throw SettingsError(key: key, problem: "must have at least \(minimumLength) characters")
        }
        return Secret(value)
    }

    public func integer(_ key: String, default: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let value = text(key) else { return `default` }
        guard let number = Int(value), range.contains(number) else {
            throw SettingsError(
                key: key, problem: "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    public func double(_ key: String, default: Double, in range: ClosedRange<Double>) throws -> Double {
        guard let value = text(key) else { return `default` }
        guard let number = Double(value), range.contains(number) else {
            throw SettingsError(key: key, problem: "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// `true` or `false`.
    public func flag(_ key: String, default: Bool) throws -> Bool {
        switch text(key) {
        case nil: return `default`
        case "true": return true
        case "false": return false
        default: throw SettingsError(key: key, problem: "must be true or false")
        }
    }

    /// A base URL: `http` or `https`, a host, optionally a port and a path, no query or fragment.
    public func url(_ key: String, default: URL) throws -> URL { try optionalURL(key) ?? `default` }

    /// A base URL as for `url(_:default:)`; nil if it is not set.
    public func optionalURL(_ key: String) throws -> URL? {
        guard let value = text(key) else { return nil }
        guard let url = URL(string: value), ["http", "https"].contains(url.scheme), url.host() != nil,
            url.query() == nil, url.fragment() == nil
        else { throw SettingsError(key: key, problem: "must be an http or https address without a query") }
        return url
    }

    /// A comma-separated list, or an array of strings in the file. White space around items is removed.
    public func list(_ key: String, default: [String] = []) -> [String] {
        guard let value = text(key) else { return reader.stringArray(forKey: ConfigKey(key)) ?? `default` }
        return value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Accepts numbers and booleans in the file as text, so that `{"port":80}` works.
    private func text(_ key: String) -> String? {
        let key = ConfigKey(key)
        if let text = reader.string(forKey: key), !text.isEmpty { return text }
        return reader.int(forKey: key).map(String.init) ?? reader.double(forKey: key).map { "\($0)" }
            ?? reader.bool(forKey: key).map { "\($0)" }
    }
}

/// A flag, variable or file member that no process knows. Never contains a value.
struct UnknownSetting: Error, CustomStringConvertible {
    let description: String
}

/// A missing or invalid configuration value. Never contains the value.
public struct SettingsError: Error, CustomStringConvertible {
    public let key: String
    public let problem: String

    public init(key: String, problem: String) {
        self.key = key
        self.problem = problem
    }

    public var description: String {
        "configuration \(key) (\(SettingNames.variable(key))) \(problem)"
    }
}
