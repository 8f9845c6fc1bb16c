import Foundation
import MartletKit

extension SportLook {
    /// Creates the app on the server: collections with rules, indexes, and the two rules for push messages. There is no
    /// other code on the server.
    static func setUp(_ developer: Developer, _ simulators: Simulators) async throws -> ExampleApp {
        let app = try await developer.makeApp("SportLook", bundleID: "org.example.sportlook")
        try await app.declare(
            schemas: PackageResources.SportLookSchemas_json, rules: PackageResources.SportLookRules_json)
        for collection in ["Events", "_User"] {
            try await app.manage("POST", "collections/\(collection)/indexes", ["kind": "geo", "fields": ["place"]])
        }
        for (name, rule) in pushRules { try await app.manage("PUT", "notifications/rules/\(name)", rule) }
        try await simulators.apns(app.environment)?.accept(app)
        return app
    }

    private static let pushRules: [String: JSON] = [
        "chat": [
            "when": ["collection": "Messages", "events": ["created"]],
            "to": [["field": "participants", "of": ["collection": "Events", "id": "object.event.objectId"]]],
            "except": ["actor"],
            "content": [
                "title": "SportLook", "body": "{{object.text}}", "data": ["event": "{{object.event.objectId}}"],
                "badge": "increment", "sound": "default",
            ],
        ],
        "invitation": [
            "when": ["collection": "Invitations", "events": ["created"]],
            "to": [["field": "object.to"]],
            "content": [
                "title": "SportLook", "body": "You are invited", "data": ["event": "{{object.event.objectId}}"],
            ],
        ],
    ]
}
