import MartletKit

extension FindMyBike {
    /// Creates the app on the server, with the same rules for released and for development builds of the app.
    static func setUp(_ developer: Developer, _ simulators: Simulators) async throws -> ExampleApp {
        let app = try await developer.makeApp("FindMyBike", bundleID: "org.example.findmybike")
        for environment in [app, app.inTest] {
            try await environment.declare(
                schemas: PackageResources.FindMyBikeSchemas_json, rules: PackageResources.FindMyBikeRules_json)
            try await environment.manage("PUT", "notifications/rules/sighting", pushRule)
            try await simulators.apns(environment.environment)?.accept(environment)
        }
        return app
    }

    /// The place is not part of the message: the owner's app asks for it.
    private static let pushRule: JSON = [
        "when": ["collection": "Sightings", "events": ["created"]],
        "to": [["field": "owner", "of": ["collection": "Bikes", "id": "object.bike.objectId"]]],
        "except": ["actor"],
        "content": [
            "title": "FindMyBike", "body": "Somebody has seen your bike", "data": ["sighting": "{{id}}"],
            "sound": "default",
        ],
    ]
}

/// A phone's connection, which can be switched off.
actor Radio: HTTPTransport {
    private let transport = URLSessionTransport()
    private var isOn = true

    func set(isOn: Bool) { self.isOn = isOn }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        guard isOn else { throw MartletError(.notConnected, "The phone has no connection.") }
        return try await transport.send(request, progress: progress)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        guard isOn else { throw MartletError(.notConnected, "The phone has no connection.") }
        return try await transport.stream(request)
    }
}
