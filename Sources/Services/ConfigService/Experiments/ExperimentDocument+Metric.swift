import MartletAPI
import MartletCore

extension ExperimentDocument.Metric {
    private enum Goal: String, CaseIterable {
        case increase, decrease
    }

    private static let members: Set<String> = [
        "name", "kind", "goal", "covariate", "minimumEffect", "prior", "event", "property", "denominatorEvent",
        "covariateDays",
    ]
    private static let defaultCovariateDays = 14

    init(_ json: JSONValue, at path: String, _ reader: inout DocumentReader) {
        let json = reader.object(json, at: path, known: Self.members) ?? .object([])
        name = reader.name(json["name"], at: path + "/name")
        kind = reader.choice(json["kind"], at: path + "/kind") ?? .proportion
        let goal: Goal? = reader.choice(json["goal"], at: path + "/goal")
        isLessBetter = goal == .decrease
        hasCovariate = reader.flag(json["covariate"], at: path + "/covariate") ?? false
        if hasCovariate, kind == .ratio {
            reader.error("conflict", at: path + "/covariate", "A ratio cannot be adjusted by a covariate.")
        }
        minimumEffect = reader.number(json["minimumEffect"], at: path + "/minimumEffect", in: 0.0001...10)
        let prior = reader.object(json["prior"], at: path + "/prior", known: ["mean", "standardDeviation"])
        priorMean = reader.number(prior?["mean"], at: path + "/prior/mean", in: -10...10) ?? 0
        priorDeviation = reader.number(
            prior?["standardDeviation"], at: path + "/prior/standardDeviation", in: 0.0001...100)
        if prior != nil, prior?["standardDeviation"] == nil {
            reader.error("required", at: path + "/prior/standardDeviation", "This is required.")
        }
        event = reader.text(json["event"], at: path + "/event")
        property = reader.text(json["property"], at: path + "/property")
        denominatorEvent = reader.text(json["denominatorEvent"], at: path + "/denominatorEvent")
        let days = reader.integer(
            json["covariateDays"], at: path + "/covariateDays", in: 1...ExperimentQuestion.maximumCovariateDays)
        covariateDays = days ?? Self.defaultCovariateDays
        checkSource(at: path, hasCovariateDays: days != nil, &reader)
    }

    /// Reports conflicts among the members that describe the source of the data.
    private func checkSource(at path: String, hasCovariateDays: Bool, _ reader: inout DocumentReader) {
        for (name, text) in [("event", event), ("property", property), ("denominatorEvent", denominatorEvent)]
        where text != nil {
            if text?.isEmpty == true || text?.utf8.contains(0) == true {
                reader.error(
                    "wrong-type", at: "\(path)/\(name)", "Expected a nonempty name without NUL characters.")
            }
            if event == nil {
                reader.error(
                    "required", at: path + "/event", "A metric with \(name) requires event, the event to be counted.")
            }
        }
        if property != nil, kind == .proportion {
            reader.error(
                "conflict", at: path + "/property", "A proportion counts units with the event, so it has no property.")
        }
        if event != nil, (denominatorEvent != nil) != (kind == .ratio) {
            reader.error(
                "conflict", at: path + "/denominatorEvent",
                "denominatorEvent is required for a ratio and not allowed otherwise.")
        }
        if hasCovariateDays, event == nil || !hasCovariate {
            reader.error(
                "conflict", at: path + "/covariateDays", "covariateDays requires an event and \"covariate\":true.")
        }
    }
}
