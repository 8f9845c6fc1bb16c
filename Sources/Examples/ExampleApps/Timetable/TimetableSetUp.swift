import Foundation
import MartletKit

extension Timetable {
    /// The app version that is in the store.
    static let version = "2.0"

    /// Creates the app on the server: the lessons, the styles of two themes, and texts in two languages.
    static func setUp(_ developer: Developer) async throws -> ExampleApp {
        let app = try await developer.makeApp("Timetable", bundleID: "org.example.timetable")
        try await app.manage("PUT", "roles/editors", ["add": []])
        try await app.declare(
            schemas: PackageResources.TimetableSchemas_json, rules: PackageResources.TimetableRules_json)
        for (theme, red) in [("Light", 120), ("Dark", 250)] {
            try await publish(theme, red: red, startScreen: "day", on: app)
        }
        try await app.manage(
            "POST", "config/translation/\(version)/import?format=xcstrings",
            JSON(parsing: Data(PackageResources.TimetableTexts_json)))
        try await app.manage("POST", "config/translation/\(version)/publish", ["note": "The first texts"])
        return app
    }

    /// Publishes the styles of a theme. Returns their version.
    @discardableResult
    static func publish(_ theme: String, red: Int, startScreen: String, on app: ExampleApp) async throws -> Int {
        let label: JSON = [
            "objectName": "className", "objectType": "UILabel", "objectProperties": ["textColor": "navColor"],
        ]
        let answer = try await app.manage(
            "POST", "remote",
            [
                "appVersion": .string(version), "theme": .string(theme),
                "configuration": [
                    "mainSettings": ["startScreen": .string(startScreen)],
                    "colors": [["name": "navColor", "red": .init(red), "green": 0, "blue": 0, "alpha": 1]],
                    "controllers": [
                        [
                            "name": .string(dayScreen), "parent": "0", "classType": "UITableViewController",
                            "classProperties": [:], "objectsList": [label],
                        ]
                    ],
                ],
            ])
        return answer["version"]?["version"]?.intValue ?? 0
    }

    /// Half of the phones get the other start screen, for a week.
    static func startTest(on app: ExampleApp) async throws {
        let other = try await publish("Light", red: 120, startScreen: "week", on: app)
        try await app.manage("POST", "config/configuration/\(version)~Light/rollback", ["version": .init(other - 1)])
        let experiment: JSON = [
            "title": "Which screen first?", "state": "draft", "configuration": .string(version + "~Light"),
            "unit": "device",
            "variations": [
                ["key": "day"],
                [
                    "key": "week",
                    "configuration": ["name": .string(version + "~Light"), "version": .init(other)],
                ],
            ],
            "end": .string(ISO8601DateFormatter().string(from: Date().addingTimeInterval(7 * 24 * 3_600))),
            "metrics": [["name": "opened", "event": "Lesson Opened"]],
        ]
        let name = "config/experiment/start-screen"
        try await app.manage("PUT", name, experiment, headers: ["if-none-match": "*"])
        try await app.manage("POST", name + "/start")
    }
}

extension JSON {
    init(_ number: Int) { self = .number(JSONNumber(number)) }
}
