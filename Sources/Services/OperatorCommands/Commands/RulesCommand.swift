import ArgumentParser
import Foundation
import MartletCore
import NIOHTTP1

/// `martlet rules pull|plan|push`: the rules of all collections as a file, which belongs in the app's repository.
struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Reads and sets the rules of all collections of an app as one file.",
        subcommands: [Pull.self, Plan.self, Push.self])

    struct Pull: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints the rules.")

        @OptionGroup var server: ServerOptions

        func run() async throws {
            guard let rules = try await server.api.send(.GET, "/rules") else { throw RulesFile.noServer }
            print(RulesFile.text(of: rules))
        }
    }

    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints what a file would change, and changes nothing.")

        @OptionGroup var server: ServerOptions

        @Argument(help: "The file, as printed by pull.")
        var file: String

        func run() async throws {
            _ = try await RulesPlan(RulesFile(file).rules, at: server.api).show()
        }
    }

    struct Push: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints what a file changes and, if you agree, sets the rules: all or none.",
            discussion: "Writes the new base into the file, so that the next push starts from there.")

        @OptionGroup var server: ServerOptions

        @Argument(help: "The file, as printed by pull.")
        var file: String

        @Flag(help: "Set the rules without asking.")
        var yes = false

        @Flag(help: "Set the rules even if others have been set since the file was read from the server.")
        var force = false

        func run() async throws {
            let file = try RulesFile(self.file)
            let plan = try await RulesPlan(file.rules, at: server.api)
            guard plan.show() else { return }
            guard plan.isCurrent || force else {
                throw ValidationError(
                    "the rules have changed since the file was read; pull again and merge, or use --force")
            }
            guard yes || agrees() else { throw ExitCode(1) }
            let base = try await plan.apply()
            print("The rules are set.")
            try file.write(base: base)
        }

        private func agrees() -> Bool {
            print("Set these rules? [y/N] ", terminator: "")
            return ["y", "yes"].contains(readLine()?.lowercased())
        }
    }
}

/// A file with the rules of an app.
struct RulesFile {
    static let noServer = ValidationError("the server does not know this call; is the address right?")
    private static let maximumSizeInBytes = 4 << 20

    let path: String
    let rules: JSONValue
    private let source: String

    init(_ path: String) throws {
        self.path = path
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        guard data.count <= Self.maximumSizeInBytes else { throw ValidationError("\(path) has more than 4 MiB") }
        source = String(decoding: data, as: UTF8.self)
        do {
            rules = try JSONValue(parsing: data)
        } catch {
            throw ValidationError("\(path): \(error)")
        }
    }

    /// Replaces the base in the file and leaves the rest as it is. Without one, the file stays as it is.
    func write(base: String) throws {
        guard case .string(let old) = rules["base"], !old.isEmpty, source.ranges(of: "\"\(old)\"").count == 1 else {
            return
        }
        try Data(source.replacing("\"\(old)\"", with: "\"\(base)\"").utf8).write(
            to: URL(fileURLWithPath: path), options: .atomic)
    }

    /// The rules with one line for each operation.
    static func text(of value: JSONValue, depth: Int = 0) -> String {
        guard case .object(let members) = value, !members.isEmpty, depth < 4 else { return value.text }
        let indent = String(repeating: "  ", count: depth + 1)
        let lines = members.map { "\(indent)\(JSONValue.quote($0.name)): \(text(of: $0.value, depth: depth + 1))" }
        return "{\n\(lines.joined(separator: ",\n"))\n\(indent.dropLast(2))}"
    }
}

/// What a file would change on the server.
struct RulesPlan {
    private let rules: JSONValue
    private let api: ServerAPI
    private let answer: JSONValue

    init(_ rules: JSONValue, at api: ServerAPI) async throws {
        guard let answer = try await api.send(.PUT, "/rules?plan=true", rules) else { throw RulesFile.noServer }
        (self.rules, self.api, self.answer) = (rules, api, answer)
    }

    /// Whether nobody has changed rules since the file was read.
    var isCurrent: Bool { answer["isCurrent"] == .bool(true) }

    /// Prints the changes; false if there are none.
    func show() -> Bool {
        let lines = Self.lines(of: answer)
        print(lines.isEmpty ? "Nothing changes." : lines.joined(separator: "\n"))
        if !isCurrent { print("The rules on the server are not those from which the file was made.") }
        return !lines.isEmpty
    }

    /// Sets the rules if the server still has those for which the plan was made; returns the new base.
    func apply() async throws -> String {
        guard case .object(let members) = rules, let base = answer["base"] else { throw RulesFile.noServer }
        let based = JSONValue.object(members.filter { $0.name != "base" } + [.init("base", base)])
        guard case .string(let new) = try await api.send(.PUT, "/rules", based)?["base"] else {
            throw RulesFile.noServer
        }
        return new
    }

    /// The changes and warnings of a plan, one a line; empty if nothing changes.
    static func lines(of plan: JSONValue) -> [String] {
        var lines: [String] = []
        func text(_ value: JSONValue?) -> String { if case .string(let text)? = value { text } else { "" } }
        let (before, after) = (plan["access"]?["before"], plan["access"]?["after"])
        if before != after { lines.append("access: \(text(before)) -> \(text(after))") }
        if case .array(let changes) = plan["changes"] {
            for change in changes {
                let place = "\(text(change["collection"])).\(text(change["place"]))"
                lines.append("\(place):")
                if let before = change["before"] { lines.append("  - \(before.text)") }
                if let after = change["after"] { lines.append("  + \(after.text)") }
            }
        }
        guard !lines.isEmpty, case .array(let warnings) = plan["warnings"] else { return lines }
        return lines + warnings.map { "warning: \(text($0["place"])): \(text($0["message"]))" }
    }
}
