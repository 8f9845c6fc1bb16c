import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletPushSimulator
import MartletTesting
import Testing

extension IntegrationTests {
    /// Writes through the gateway become pushes at a simulated APNs, by rules alone, with storage, notifications and
    /// delivery as in operation.
    @Suite struct PushRuleTests {
        /// A server that pushes to a simulator which knows `key`.
        private static func withSimulator(_ body: (LocalServer, APNsSimulator) async throws -> Void) async throws {
            let (apns, key) = (try await APNsSimulator.start(), SimulatedKey())
            apns.trust(key)
            let certificates = FileManager.default.temporaryDirectory.appending(
                path: "martlet-apns-\(UUID().uuidString).pem")
            try Data(TestCertificate.certificate.utf8).write(to: certificates)
            defer { try? FileManager.default.removeItem(at: certificates) }
            let address = "\(apns.host):\(apns.port)"
            try await LocalServer.with(environment: [
                "MARTLET_PUSH_APNS_SANDBOX": address, "MARTLET_PUSH_APNS_PRODUCTION": address,
                "MARTLET_PUSH_APNS_CERTIFICATES": certificates.path,
                "MARTLET_HOOKS_PRIVATE_ALLOWED": "true",
            ]) { server in
                let file = JSONValue.object([
                    .init("key", .string(key.pem)), .init("keyId", .string(key.keyID)),
                    .init("teamId", .string(key.teamID)),
                    .init("bundleIds", .array([.string("app.example")])),
                ])
                let uploaded = try await Client.master(server.connection).send(
                    "PUT", "notifications/credentials/apns", file.text)
                try #require(uploaded.isSuccess, "\(uploaded)")
                try await body(server, apns)
            }
            await apns.stop()
        }

        /// A user who is signed in on a device.
        private struct Person {
            var id: String
            var client: Client
            var device: String
        }

        private static func person(_ name: String, on server: LocalServer) async throws -> Person {
            let client = Client(server.connection)
            let tokens = try await client.post("auth/signup", #"{"userName":"\#(name)","password":"correct horse"}"#)
            try #require(tokens.status == 201, "\(tokens)")
            let signedIn = client.adding("authorization", "Bearer \(try #require(tokens.string("accessToken")))")
            let token = (0..<32).map { _ in ["a0", "1b", "c2", "3d"].randomElement() ?? "00" }.joined()
            let secret = Base64URL.encode((0..<32).map { _ in UInt8.random(in: 0...255) })
            server.record(secret: secret)
            let registered = try await signedIn.adding("Installation-Secret", secret).send(
                "PUT", "installations/\(UUID().uuidString.lowercased())",
                #"{"platform":"ios","push":{"service":"apns","token":"\#(token)","bundleId":"app.example","sandbox":true}}"#
            )
            try #require(registered.isSuccess, "\(registered)")
            return Person(id: try #require(tokens.string("user.id")), client: signedIn, device: token)
        }

        private static func requests(_ apns: APNsSimulator, to person: Person) -> [JSONValue] {
            apns.requests.filter { $0.device == person.device }.compactMap { try? JSONValue(parsing: $0.payload) }
        }

        @Test func `FindMyBike: a sighting is pushed to the bike's owner although notifications is killed`()
            async throws
        {
            try await Self.withSimulator { server, apns in
                let (ann, eve) = (try await Self.person("ann", on: server), try await Self.person("eve", on: server))
                let master = Client.master(server.connection)
                let rule = try await master.send(
                    "PUT", "notifications/rules/sighting",
                    """
                    {"when":{"collection":"Sightings","events":["created"]},"to":[{"field":"owner","of":{"collection":"Bikes","id":"object.bikeId"}}],
                     "except":["actor"],"content":{"title":"Seen","body":"{{object.place}}","data":{"sighting":"{{id}}"}}}
                    """)
                try #require(rule.status == 201, "\(rule)")
                #expect(try await master.post("storage/Bikes", #"{"_id":"b1","owner":"\#(ann.id)"}"#).status == 201)
                #expect(
                    try await eve.client.post("storage/Sightings", #"{"_id":"s1","bikeId":"b1","place":"Harbour"}"#)
                        .status == 201)
                try await eventually("the push has arrived") {
                    Self.requests(apns, to: ann).count == 1
                }
                let push = try #require(Self.requests(apns, to: ann).first)
                #expect(
                    push["aps"]?["alert"]?["body"] == .string("Harbour") && push["sighting"] == .string("s1"),
                    "\(push.text)")
                #expect(
                    try await ann.client.post("storage/Sightings", #"{"_id":"s2","bikeId":"b1","place":"Home"}"#).status
                        == 201)

                // A push whose result is not stored yet would be sent again.
                try await eventually("the result of the push is stored") {
                    try await server.withDatabase {
                        try await $0.query("SELECT count(*) FROM notifications.deliveries WHERE state = 'accepted'")[0]
                            .decode(0, as: Int.self)
                    } == 1
                }
                try server.signal("notifications", SIGKILL)
                for number in 0..<10 {
                    let seen = try await eve.client.post(
                        "storage/Sightings", #"{"_id":"k\#(number)","bikeId":"b1","place":"Station"}"#)
                    #expect(seen.status == 201)
                }
                try await eventually("all pushes have arrived") { Self.requests(apns, to: ann).count >= 11 }
                let sightings = Self.requests(apns, to: ann).compactMap { $0["sighting"]?.text }
                #expect(Set(sightings).count == 11 && sightings.count == 11 && !sightings.contains("\"s2\""))
                #expect(Self.requests(apns, to: eve).isEmpty)
                let runs = try await master.get("notifications/rules/sighting/runs?limit=100")
                #expect(runs["count"] == "12", "\(runs)")
            }
        }

        @Test func `SportLook: chat reaches all participants but the sender, and an invitation reaches the invited`()
            async throws
        {
            try await Self.withSimulator { server, apns in
                let people = [
                    try await Self.person("ann", on: server), try await Self.person("ben", on: server),
                    try await Self.person("cem", on: server),
                ]
                let master = Client.master(server.connection)
                let chat = """
                    {"when":{"collection":"Messages","events":["created"]},"to":[{"field":"participants","of":{"collection":"Events","id":"object.event"}}],
                     "except":["actor"],"content":{"title":"Chat","body":"{{object.text}}","data":{"eventId":"{{object.event}}"}}}
                    """
                let invitation = """
                    {"when":{"collection":"Invitations","events":["created"]},"to":[{"field":"object.invitee"}],"content":{"title":"Invitation","body":"{{object.sport}}"}}
                    """
                #expect(try await master.send("PUT", "notifications/rules/chat", chat).status == 201)
                #expect(try await master.send("PUT", "notifications/rules/invitation", invitation).status == 201)
                let ids = people.map { JSONValue.quote($0.id) }.joined(separator: ",")
                #expect(
                    try await master.post("storage/Events", #"{"_id":"e1","participants":[\#(ids)]}"#).status == 201)
                #expect(
                    try await people[0].client.post("storage/Messages", #"{"event":"e1","text":"Hi"}"#).status == 201)
                #expect(
                    try await people[0].client.post(
                        "storage/Invitations", #"{"invitee":"\#(people[2].id)","sport":"Tennis"}"#
                    ).status == 201)
                try await eventually("the pushes have arrived") { apns.requests.count >= 3 }
                func bodies(_ person: Person) -> [String] {
                    Self.requests(apns, to: person).compactMap { $0["aps"]?["alert"]?["body"]?.text }.sorted()
                }
                #expect(
                    bodies(people[0]) == [] && bodies(people[1]) == ["\"Hi\""]
                        && bodies(people[2]) == ["\"Hi\"", "\"Tennis\""])
                #expect(Self.requests(apns, to: people[1]).first?["eventId"] == .string("e1"))
            }
        }

        @Test func `SportLook: one user invites another by a template, as the app's client rules allow`()
            async throws
        {
            try await Self.withSimulator { server, apns in
                let people = [
                    try await Self.person("ann", on: server), try await Self.person("ben", on: server),
                    try await Self.person("cem", on: server),
                ]
                let master = Client.master(server.connection)
                let body = """
                    {"template":"invitation","variables":{"sport":"Tennis"},"audience":{"users":["\(people[1].id)"]}}
                    """
                func invite(_ client: Client, key: String) async throws -> Reply {
                    try await client.adding("Idempotency-Key", key).post("notifications/messages", body)
                }
                #expect(try await invite(people[0].client, key: "i0").isProblem(.forbidden), "there are no rules yet")
                let template =
                    #"{"content":{"title":"Invitation","body":"{{sport}}?","data":{"invitedBy":"{{sender}}"}}}"#
                #expect(try await master.send("PUT", "notifications/templates/invitation", template).isSuccess)
                let rules = """
                    {"templates":{"invitation":{"maximumRecipients":10,"limit":{"count":20,"seconds":3600},"when":{"!":{"in":[{"var":"sender"},{"var":"recipients"}]}}}}}
                    """
                #expect(try await master.send("PUT", "notifications/client-rules", rules).isSuccess)
                let sent = try await invite(people[0].client, key: "i1")
                #expect(sent.status == 201 && sent.string("template") == "invitation", "\(sent)")
                #expect(try await invite(people[0].client, key: "i1").status == 200)
                try await eventually("the invitation has arrived") {
                    !Self.requests(apns, to: people[1]).isEmpty
                }
                let push = try #require(Self.requests(apns, to: people[1]).first)
                #expect(
                    push["aps"]?["alert"]?["body"] == .string("Tennis?") && push["invitedBy"] == .string(people[0].id),
                    "\(push.text)")
                #expect(Self.requests(apns, to: people[0]).isEmpty && Self.requests(apns, to: people[2]).isEmpty)

                #expect(try await invite(people[1].client, key: "i2").isProblem(.forbidden), "to oneself")
                #expect(try await invite(Client(server.connection), key: "i3").isProblem(.forbidden), "not signed in")
                #expect(try await people[0].client.get("notifications/messages").isProblem(.forbidden))
                let free = try await people[0].client.post(
                    "notifications/messages", #"{"content":{"body":"free"},"audience":{"everyone":true}}"#)
                #expect(free.isProblem(.invalidBody), "\(free)")
                #expect(try await master.get("notifications/messages")["count"] == "1")
            }
        }
    }
}
