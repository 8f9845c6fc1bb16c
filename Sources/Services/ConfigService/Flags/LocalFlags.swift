import Foundation
import MartletCore
import MartletFlags
import MartletHTTP

/// The flags that devices evaluate themselves, with the running experiments on them as their first rules.
///
/// A flag is left out if one of its experiments looks up earlier variations or tests what only the server knows. The
/// server's value counts then.
struct LocalFlags {
    /// The flag that exceeds this size, and all after it, are left out. Flags without experiments are limited when they
    /// are published.
    static let maximumSizeInBytes = 1 << 20
    /// Increased when devices could misread the rules. They ignore rules of a newer format.
    static let format = 1

    private let live: (document: LiveDocument, flags: FlagDocument)?
    /// The running experiments on flags.
    private let experiments: [(version: Int, compiled: CompiledExperiment)]

    init(_ space: LiveSpace, at date: Date) {
        live = space.flags
        experiments = space.documents(of: .experiment).compactMap { document in
            guard let compiled = document.compiled as? CompiledExperiment, compiled.document.isRunning(at: date) else {
                return nil
            }
            return (document.version, compiled)
        }
    }

    /// Changes with the flags, and whenever an experiment starts, changes or ends.
    var tag: EntityTag {
        let running = experiments.map { "\($0.compiled.name):\($0.version)" }.joined(separator: ",")
        let text = "\(Self.format)\n\(live?.document.sha256 ?? "none")\n\(running)"
        return EntityTag(text: Hexadecimal.text(Credential.digest(of: text).prefix(16)))
    }

    var body: String {
        guard let live else { return #"{"format":\#(Self.format),"version":null,"flags":{}}"# }
        var byFlag: [String: [CompiledExperiment]] = [:]
        for (_, experiment) in experiments {
            for key in Set(experiment.document.variations.flatMap { $0.flags.map(\.name) }) {
                byFlag[key, default: []].append(experiment)
            }
        }
        var members: [String] = []
        var sizeInBytes = 0
        for flag in live.flags.flags where flag.localRules != nil {
            let own = byFlag[flag.key] ?? []
            let rules = own.compactMap { $0.localRule(for: flag) }
            guard rules.count == own.count, let member = live.flags.localMember(flag, after: rules) else { continue }
            sizeInBytes += member.utf8.count
            // Each flag repeats the condition of its experiment, so the work for the others must be limited, too.
            guard sizeInBytes <= Self.maximumSizeInBytes else { break }
            members.append(member)
        }
        let flags = members.joined(separator: ",")
        return #"{"format":\#(Self.format),"version":\#(live.document.version),"flags":{\#(flags)}}"#
    }
}

extension CompiledExperiment {
    /// The experiment as a rule of a flag, in the form that devices evaluate; nil if they cannot evaluate it.
    fileprivate func localRule(for flag: FlagDocument.Flag) -> String? {
        guard !document.needsHistory, let localCondition else { return nil }
        var tests = [localCondition]
        if let version = document.appVersion, document.configuration == nil {
            tests.append(.object([.init("appVersion", .object([.init("$eq", .string(version))]))]))
        }
        let values = document.variations.map { variation -> String? in
            let value = variation.flags.first { $0.name == flag.key }?.value
            return value.flatMap { flag.kind.accepts($0) ? $0.text : nil }
        }
        return experiment.localText(condition: .object([.init("$and", .array(tests))]), values: values)
    }
}
