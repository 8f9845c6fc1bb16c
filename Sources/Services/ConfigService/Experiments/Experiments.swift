import Foundation
import Logging
import MartletCore
import MartletFlags

/// What experiments make of an answer. Who is given something of one is written down, once.
struct Experiments: Sendable {
    let exposures: ExposureStore
    let log: ExposureLog
    let logger: Logger

    /// The variation that decides what is served as a configuration; nil: what is live, as no experiment has the unit.
    func configuration(
        _ name: String, for unit: ExperimentUnit, _ attributes: FlagAttributes, in space: LiveSpace,
        at date: Date = Date()
    ) async -> Assignment? {
        let assignments = await assignments(for: unit, attributes, in: space, at: date)
        guard let assignment = assignments.first(where: { $0.configuration == name }) else { return nil }
        log.record([assignment], in: space.space)
        return assignment
    }

    /// The variations that decide what some of these flags answer.
    func flags(
        _ names: Set<String>, for unit: ExperimentUnit, _ attributes: FlagAttributes, in space: LiveSpace,
        at date: Date = Date()
    ) async -> [Assignment] {
        let assignments = await assignments(for: unit, attributes, in: space, at: date).filter { assignment in
            let experiment = space[DocumentKey(.experiment, assignment.experiment)]?.compiled as? CompiledExperiment
            // The control tests a flag, too, though it answers what is live.
            return experiment?.document.variations.contains { $0.flags.contains { names.contains($0.name) } } ?? false
        }
        log.record(assignments, in: space.space)
        return assignments
    }

    /// What a unit gets of every experiment that runs. Reads the database only where one needs to know what the unit
    /// was given before; while that is away such an experiment goes without the unit.
    func assignments(
        for unit: ExperimentUnit, _ attributes: FlagAttributes, in space: LiveSpace, at date: Date = Date()
    ) async -> [Assignment] {
        let running = space.runningExperiments(at: date)
        guard !running.isEmpty else { return [] }
        let needing = running.filter { $0.document.needsHistory && unit[$0.document.unit] != nil }
        guard !needing.isEmpty else { return space.assignments(for: unit, attributes, at: date) }
        do {
            let history = try await exposures.history(of: unit, experiments: needing.map(\.id), in: space.space)
            return space.assignments(for: unit, attributes, at: date, history: history)
        } catch {
            logger.debug("variations given before not read", metadata: ["error.cause": "\(error)"])
            return space.assignments(for: unit, attributes, at: date)
        }
    }
}

extension [Assignment] {
    /// For the header `Experiments`: `checkout=dark, search=b`.
    var header: String { map(\.text).joined(separator: ", ") }

    /// For answers: `{"checkout":"dark"}`.
    var json: JSONValue { .object(map { .init($0.experiment, .string($0.variation)) }) }
}
