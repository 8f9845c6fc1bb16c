import Foundation
import Logging
import MartletCore
import MartletFlags

/// Applies experiments to answers and records each exposed unit once.
struct Experiments: Sendable {
    let exposures: ExposureStore
    let log: ExposureLog
    let logger: Logger
    let now: @Sendable () -> Date

    /// The assignment that decides which version of a configuration is served; nil if no experiment includes the unit.
    func configuration(
        _ name: String, for unit: ExperimentUnit, _ attributes: FlagAttributes, in space: LiveSpace
    ) async -> Assignment? {
        let date = now()
        let assignments = await assignments(for: unit, attributes, in: space, at: date)
        guard let assignment = assignments.first(where: { $0.configuration == name }) else { return nil }
        log.record([assignment], in: space.space, at: date)
        return assignment
    }

    /// The assignments that decide the values of these flags.
    func flags(
        _ names: Set<String>, for unit: ExperimentUnit, _ attributes: FlagAttributes, in space: LiveSpace,
        at date: Date
    ) async -> [Assignment] {
        let assignments = await assignments(for: unit, attributes, in: space, at: date).filter { assignment in
            let experiment = space[DocumentKey(.experiment, assignment.experiment)]?.compiled as? CompiledExperiment
            // The control variation tests a flag too, although it leaves the live value.
            return experiment?.document.variations.contains { $0.flags.contains { names.contains($0.name) } } ?? false
        }
        log.record(assignments, in: space.space, at: date)
        return assignments
    }

    /// A unit's variations in all running experiments. Reads the database only if an experiment depends on earlier
    /// variations. If the database is unavailable, such experiments leave the unit out.
    func assignments(
        for unit: ExperimentUnit, _ attributes: FlagAttributes, in space: LiveSpace, at date: Date
    ) async -> [Assignment] {
        let running = space.runningExperiments(at: date)
        guard !running.isEmpty else { return [] }
        let needing = running.filter { $0.document.needsHistory && unit[$0.document.unit] != nil }
        guard !needing.isEmpty else { return space.assignments(for: unit, attributes, at: date) }
        do {
            let history = try await exposures.history(of: unit, experiments: needing.map(\.id), in: space.space)
            return space.assignments(for: unit, attributes, at: date, history: history)
        } catch {
            logger.debug(
                "Could not read earlier variations; experiments that depend on them leave the unit out.",
                metadata: ["error.cause": "\(error)"])
            return space.assignments(for: unit, attributes, at: date)
        }
    }
}

extension [Assignment] {
    /// The value of the header `Experiments`: `checkout=dark, search=b`.
    var header: String { map(\.text).joined(separator: ", ") }

    /// The form in answers: `{"checkout":"dark"}`.
    var json: JSONValue { .object(map { .init($0.experiment, .string($0.variation)) }) }
}
