import Foundation
import MartletCore
import MartletFlags
import Synchronization

/// The flags that devices evaluate themselves, with the running experiments on them as their first rules.
///
/// A flag is left out if one of its experiments looks up earlier variations or tests what only the server knows. The
/// server's value counts then.
final class LocalFlags: Sendable {
    /// The flag that exceeds this size, and all after it, are left out. Flags without experiments are limited when they
    /// are published.
    static let maximumSizeInBytes = 1 << 20
    /// Increased when devices could misread the rules. They ignore rules of a newer format.
    static let format = 1

    private let live: (document: LiveDocument, flags: FlagDocument)?
    private let experiments: [CompiledExperiment]
    private let last = Mutex<(running: [Int], answer: StoredContent)?>(nil)

    init(_ space: LiveSpace) {
        live = space.flags
        experiments = space.documents(of: .experiment).compactMap { $0.compiled as? CompiledExperiment }
    }

    /// The answer for devices, as JSON. It is made on first use, and again after an experiment has started or ended.
    func answer(at date: Date) -> StoredContent {
        let running = experiments.indices.filter { experiments[$0].document.isRunning(at: date) }
        if let known = last.withLock({ $0 }), known.running == running { return known.answer }
        let answer = StoredContent(Array(body(running.map { experiments[$0] }).utf8))
        last.withLock { $0 = (running: running, answer: answer) }
        return answer
    }

    private func body(_ running: [CompiledExperiment]) -> String {
        guard let live else { return #"{"format":\#(Self.format),"version":null,"flags":{}}"# }
        var byFlag: [String: [CompiledExperiment]] = [:]
        for experiment in running {
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
