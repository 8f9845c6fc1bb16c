import Foundation
import MartletAPI
import MartletCore
import MartletFlags
import Testing

@testable import ConfigService

/// Experiments with a control and a dark variation of the configuration 1.2.0.
enum TestExperiment {
    static let kinds = Kinds([.configuration: PlainKind(), .experiment: ExperimentKind()])

    /// The document with a merge patch applied.
    static func json(_ changes: String = "{}") throws -> JSONValue {
        let document = """
            {"title":"Dark","state":"draft","configuration":"1.2.0","unit":"device","variations":[
                {"key":"control","weight":0.5},{"key":"dark","weight":0.5,"configuration":{"name":"1.2.0~Dark","version":1}}],
             "metrics":[{"name":"purchase","kind":"proportion","minimumEffect":0.1},{"name":"spent","kind":"mean"}]}
            """
        return try JSONValue(parsing: document.utf8).merging(try JSONValue(parsing: changes.utf8))
    }

    static func compiled(_ name: String = "checkout", _ changes: String = "{}") throws -> CompiledExperiment {
        let document = try json(#"{"state":"running"}"#).merging(try JSONValue(parsing: changes.utf8))
        return try #require(try ExperimentKind().compile(document, named: name) as? CompiledExperiment)
    }

    /// A space in which these experiments are live.
    static func space(_ experiments: CompiledExperiment...) -> LiveSpace {
        LiveSpace(
            AppSpace(appID: "app1", environment: .live), generation: 1,
            live: experiments.map {
                LiveDocument(
                    key: DocumentKey(.experiment, $0.name), version: 1, sha256: "", published: Date(), content: [],
                    compiled: $0)
            })
    }

    static func device(_ number: Int) -> ExperimentUnit { ExperimentUnit(deviceID: "device-\(number)") }
}

extension LiveSpace {
    /// The variations of a number of devices, by experiment.
    func variations(of devices: Range<Int>, at date: Date = Date(), _ attributes: FlagAttributes = [:]) -> [[String:
        String]]
    {
        devices.map { device in
            Dictionary(
                assignments(for: TestExperiment.device(device), attributes, at: date).map {
                    ($0.experiment, $0.variation)
                }, uniquingKeysWith: { $1 })
        }
    }
}
