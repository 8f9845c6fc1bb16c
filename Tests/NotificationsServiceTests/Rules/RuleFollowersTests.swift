import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import NotificationsService

@Suite struct RuleFollowersTests {
    private static let sighting = """
        {"when":{"collection":"Sightings","events":["created"]},"where":{"object.confirmed":{"$ne":false}},
         "to":[{"field":"owner","of":{"collection":"Bikes","id":"object.bikeId"}}],"except":["actor"],
         "content":{"title":"{{object.place}}","body":"Your bike was seen{{#object.note}}: {{object.note}}{{/object.note}}.","data":{"sighting":"{{id}}"}}}
        """

    @Test func `FindMyBike: a sighting notifies the bike's owner, unless the owner reported it`() async throws {
        try await RulesApp.run { app in
            for user in ["ann", "ben", "eve"] { try await app.device(of: user) }
            _ = try await app.storage.write("POST", "/storage/Bikes", #"{"_id":"b1","owner":"ann"}"#)
            _ = try await app.storage.write(
                "POST", "/storage/Sightings", #"{"bikeId":"b1","place":"before"}"#, by: "eve")
            try await app.rule("sighting", Self.sighting)
            _ = try await app.storage.write(
                "POST", "/storage/Sightings", #"{"_id":"s1","bikeId":"b1","place":"Harbour","note":"at the gate"}"#,
                by: "eve")
            _ = try await app.storage.write("POST", "/storage/Sightings", #"{"bikeId":"b1","place":"Home"}"#, by: "ann")
            _ = try await app.storage.write(
                "POST", "/storage/Sightings", #"{"bikeId":"b1","place":"Nowhere","confirmed":false}"#, by: "eve")
            _ = try await app.storage.write(
                "POST", "/storage/Sightings", #"{"bikeId":"gone","place":"Lost"}"#, by: "eve")
            _ = try await app.storage.write("POST", "/storage/Sightings", #"{"bikeId":"b1","place":"Station"}"#)
            try await eventually("all are acted on") { try await app.outcomes(of: "sighting").count == 4 }
            let (sent, outcomes) = (try await app.sent(), try await app.outcomes(of: "sighting"))
            #expect(sent == ["rule:sighting Harbour → ann", "rule:sighting Station → ann"])
            let details = try await app.details(of: "sighting")
            #expect(outcomes == ["acted", "nobody", "nobody", "acted"], "\(details)")
            guard sent.count == 2 else { return }
            let content = try await app.app.postgres.query(
                "SELECT content ->> 'body', content -> 'data' ->> 'sighting' FROM notifications.messages ORDER BY id"
            )
            #expect(try content[0].decode(0) == "Your bike was seen: at the gate.")
            #expect(try content[0].decode(1) == "s1")
            #expect(try content[1].decode(0) == "Your bike was seen.")
            let rule = try await app.app.master("GET", "/notifications/rules/sighting")
            #expect(rule["acted"] == "2" && rule["problem"] == nil, "\(rule)")
        }
    }

    @Test func `SportLook: a message notifies all participants but its sender, an invitation the invited user`()
        async throws
    {
        try await RulesApp.run { app in
            for user in ["ann", "ben", "cem", "dan"] { try await app.device(of: user) }
            _ = try await app.storage.write(
                "POST", "/storage/Events", #"{"_id":"e1","participants":["ann","ben","cem"]}"#)
            let pointers =
                #"[{"__type":"Pointer","className":"_User","objectId":"dan"},{"__type":"Pointer","className":"_User","objectId":"ann"}]"#
            _ = try await app.storage.write("POST", "/storage/Events", #"{"_id":"e2"}"#)
            _ = try await app.storage.write(
                "PATCH", "/storage/Events/e2", #"{"participants":{"__op":"AddRelation","objects":\#(pointers)}}"#)
            try await app.rule(
                "chat",
                """
                {"when":{"collection":"Messages","events":["created"]},"to":[{"field":"participants","of":{"collection":"Events","id":"object.event"}}],
                 "except":["actor"],"content":{"title":"{{object.text}}","body":"{{actor}}","data":{"eventId":"{{object.event}}"},"badge":"increment"}}
                """)
            try await app.rule(
                "invitation",
                """
                {"when":{"collection":"Invitations","events":["created","updated"]},"if":{"==":[{"var":"object.state"},"open"]},
                 "to":[{"field":"object.invitee"}],"content":{"title":"{{object.from}}","body":"An invitation"}}
                """)
            _ = try await app.storage.write("POST", "/storage/Messages", #"{"event":"e1","text":"Hi"}"#, by: "ann")
            _ = try await app.storage.write("POST", "/storage/Messages", #"{"event":"e2","text":"Ho"}"#, by: "dan")
            _ = try await app.storage.write(
                "POST", "/storage/Invitations", #"{"_id":"i1","from":"ann","invitee":"dan","state":"draft"}"#, by: "ann"
            )
            _ = try await app.storage.write("PATCH", "/storage/Invitations/i1", #"{"state":"open"}"#, by: "ann")
            try await eventually("all are sent") { try await app.sent().count == 3 }
            #expect(
                Set(try await app.sent()) == [
                    "rule:chat Hi → ben,cem", "rule:chat Ho → ann", "rule:invitation ann → dan",
                ])
        }
    }

    @Test func `users who have blocked the sender are not notified, not even through a channel`() async throws {
        try await RulesApp.run { app in
            for user in ["ann", "ben", "eve"] { try await app.device(of: user) }
            try await app.rule(
                "chat",
                """
                {"when":{"collection":"Messages","events":["created"]},"to":[{"field":"object.to"},{"channel":"all"}],
                 "content":{"title":"{{object.text}}"}}
                """)
            #expect(try await app.storage.write("PUT", "/auth/me/blocks/eve", by: "ben").status == 204)
            for (sender, text) in [("eve", "from eve"), ("ann", "from ann")] {
                _ = try await app.storage.write(
                    "POST", "/storage/Messages", #"{"to":["ann","ben"],"text":"\#(text)"}"#, by: sender)
            }
            try await eventually("both are acted on") { try await app.outcomes(of: "chat").count == 2 }
            let sent = try await app.sent()
            #expect(sent.contains { $0.contains("from eve → ann") } && sent.contains { $0.contains("from ann → ann") })
            #expect(!sent.contains { $0.contains("from eve") && $0.contains("ben") }, "\(sent)")
            let except = try await app.app.postgres.query(
                "SELECT count(*) FROM notifications.messages WHERE audience::text LIKE '%ben%' AND content->>'title' = 'from eve'"
            )
            #expect(try except[0].decode(0, as: Int.self) == 1, "ben is excluded from the channel")
        }
    }

    @Test func `two instances act on each change once, even after a rule is added`() async throws {
        try await RulesApp.run(copies: 2) { app in
            try await app.device(of: "ann")
            try await app.rule(
                "one",
                #"{"when":{"collection":"Notes","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"{{id}}"}}"#
            )
            for number in 0..<20 {
                _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n\#(number)"}"#)
            }
            try await app.rule(
                "two",
                #"{"when":{"collection":"Others","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"{{id}}"}}"#
            )
            for number in 0..<20 {
                _ = try await app.storage.write(
                    "POST", "/storage/\(number % 2 == 0 ? "Notes" : "Others")", #"{"_id":"m\#(number)"}"#)
            }
            try await eventually("all are acted on") {
                let (one, two) = (try await app.outcomes(of: "one").count, try await app.outcomes(of: "two").count)
                return one >= 30 && two >= 10
            }
            let titles = try await app.sent()
            #expect(titles.count == 40 && Set(titles).count == 40)
            #expect(try await app.outcomes(of: "one").count == 30)
            #expect(try await app.outcomes(of: "two").count == 10)
            let times = try await app.app.postgres.query(
                """
                SELECT count(*)::text || ' changes, from the write to the message: median '
                    || (1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY took))::int || ' ms, slowest ' || (1000 * max(took))::int || ' ms'
                FROM (SELECT extract(epoch FROM at - split_part(cause, '/', 2)::timestamptz)::float8 AS took FROM notifications.rule_runs) AS run
                """)
            print("rules: \(try times[0].decode(0, as: String.self))")
        }
    }

    @Test func `a failing rule shows why and does not stop others`() async throws {
        try await RulesApp.run { app in
            try await app.device(of: "ann")
            try await app.rule(
                "bad",
                #"{"when":{"collection":"Notes","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"{{object.title}}"}}"#
            )
            try await app.rule(
                "good",
                #"{"when":{"collection":"Notes","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"x"}}"#)
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n1"}"#)
            try await eventually("both outcomes are recorded") {
                try await app.outcomes(of: "bad").count + app.outcomes(of: "good").count == 2
            }
            #expect(try await app.outcomes(of: "bad") == ["failed"])
            #expect(try await app.outcomes(of: "good") == ["acted"])
            let rule = try await app.app.master("GET", "/notifications/rules/bad")
            #expect(
                rule["problem.outcome"] == "\"failed\"" && rule["problem.detail"]?.contains("title") == true, "\(rule)")
            let runs = try await app.app.master("GET", "/notifications/rules/bad/runs")
            #expect(runs["count"] == "1" && runs["data.0.object"] == "\"Notes/n1\"", "\(runs)")
        }
    }

    @Test
    func `actions beyond a rule's limit are dropped, as are loops; each series is reported once`()
        async throws
    {
        try await RulesApp.run { app in
            let rest = #""to":[{"user":"ann"}],"content":{"title":"x"}"#
            try await app.rule(
                "few",
                #"{"when":{"collection":"Notes","events":["created"]},"limit":{"count":2,"seconds":3600},\#(rest)}"#)
            try await app.rule("circle", #"{"when":{"collection":"Notes","events":["updated"]},\#(rest)}"#)
            for number in 0..<6 { _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n\#(number)"}"#) }
            // All changes are in one request, because they must happen within a minute.
            let changes = (0..<35).map { #"{"method":"PATCH","path":"storage/Notes/n0","body":{"a":\#($0)}}"# }
            let batch = #"{"requests":[\#(changes.joined(separator: ","))]}"#
            #expect(try await app.storage.write("POST", "/storage/batch", batch).status == 200)
            _ = try await app.storage.write("PATCH", "/storage/Notes/n1", #"{"a":1}"#)
            try await eventually("the last outcome is recorded") { try await app.outcomes(of: "circle").count >= 32 }
            #expect(
                try await app.outcomes(of: "circle") == [String](
                    repeating: "acted", count: RuleLimits.actionsPerObjectAndMinute) + ["loop", "acted"])
            let few = try await app.outcomes(of: "few")
            #expect(few.prefix(3) == ["acted", "acted", "limited"] && few.filter { $0 == "acted" }.count == 2)
        }
    }

    @Test func `dropping a collection while no instance follows it removes only its own changes`()
        async throws
    {
        try await RulesApp.run { app in
            let rest = #""to":[{"user":"ann"}],"content":{"title":"{{id}}"}"#
            try await app.rule("notes", #"{"when":{"collection":"Notes","events":["created"]},\#(rest)}"#)
            try await app.rule("bikes", #"{"when":{"collection":"Bikes","events":["created"]},\#(rest)}"#)
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n1"}"#)
            try await eventually("the first outcome is recorded") { try await app.outcomes(of: "notes") == ["acted"] }
            try await app.whileNobodyFollows {
                for number in 0..<150 {
                    _ = try await app.storage.write("POST", "/storage/Bikes", #"{"_id":"b\#(number)"}"#)
                }
                _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"gone"}"#)
                _ = try await app.storage.write("DELETE", "/collections/Notes")
                _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n2"}"#)
            }
            try await eventually("all changes are acted on") {
                try await app.outcomes(of: "notes").count + app.outcomes(of: "bikes").count >= 153
            }
            // Reported once, although the log is read in pages.
            #expect(try await app.outcomes(of: "notes") == ["acted", "expired", "acted"])
            #expect(Set(try await app.outcomes(of: "bikes")) == ["acted"])
            #expect(try await app.sent().count == 152)
            #expect(try await app.app.master("GET", "/notifications/rules/notes")["problem.outcome"] == "\"expired\"")
        }
    }

    @Test func `a message to a channel omits all excluded users, even more than an audience may name`() async throws {
        try await RulesApp.run { app in
            for user in ["ann", "u0", "u1499"] { try await app.device(of: user, channels: ["all"]) }
            try await app.rule(
                "news",
                #"{"when":{"collection":"News","events":["created"]},"to":[{"channel":"all"}],"except":["object.readers"],"content":{"title":"x"}}"#
            )
            let readers = (0..<1_500).map { "\"u\($0)\"" }.joined(separator: ",")
            _ = try await app.storage.write("POST", "/storage/News", #"{"readers":[\#(readers)]}"#)
            try await eventually("the message is planned") { try await app.sent() == ["rule:news x → ann"] }
            let many = (0...Recipients.maximumUsers).map { "\"u\($0)\"" }.joined(separator: ",")
            _ = try await app.storage.write("POST", "/storage/News", #"{"readers":[\#(many)]}"#)
            try await eventually("the failure is recorded") {
                try await app.outcomes(of: "news") == ["acted", "failed"]
            }
            #expect(try await app.details(of: "news").last?.contains("would be excluded") == true)
        }
    }

    @Test func `a change that cannot be acted on is shown as stuck, with time and cause, until it succeeds`()
        async throws
    {
        try await RulesApp.run { app in
            try await app.device(of: "ann")
            try await app.rule(
                "notes",
                #"{"when":{"collection":"Notes","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"{{id}}"}}"#
            )
            #expect(try await app.app.master("GET", "/notifications/rules/notes")["state"] == "\"active\"")
            try await app.app.database.withSuperuser {
                _ = try await $0.execute("REVOKE INSERT ON notifications.messages FROM martlet_notifications")
            }
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n1"}"#)
            try await eventually("the rule is stuck") {
                try await app.app.master("GET", "/notifications/rules")["data.0.state"] == "\"stuck\""
            }
            let rule = try await app.app.master("GET", "/notifications/rules/notes")
            #expect(rule["reason"] == "\"A database statement failed (42501).\"" && rule["since"] != nil, "\(rule)")
            try await app.app.database.withSuperuser {
                _ = try await $0.execute("GRANT INSERT ON notifications.messages TO martlet_notifications")
            }
            try await eventually("the rule is active again") {
                try await app.app.master("GET", "/notifications/rules/notes")["state"] == "\"active\""
            }
            #expect(try await app.sent() == ["rule:notes n1 → ann"])
            #expect(try await app.app.master("GET", "/notifications/rules/notes")["reason"] == nil)
            try await app.rule(
                "notes",
                #"{"enabled":false,"when":{"collection":"Notes","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"x"}}"#
            )
            #expect(try await app.app.master("GET", "/notifications/rules/notes")["state"] == "\"disabled\"")
        }
    }

    @Test func `a persistent failure is logged at first, and then once an hour`() {
        var tracker = FailureTracker()
        let logged = (0..<100).filter { _ in tracker.recordFailure() }
        #expect(logged == [0])
        tracker.reset()
        #expect(!tracker.shouldStoreFailure)
        let stored = (1...60).filter { _ in
            _ = tracker.recordFailure()
            return tracker.shouldStoreFailure
        }
        #expect(stored == [6, 12, 24, 36, 48, 60])
    }

    @Test
    func
        `a disabled or deleted rule no longer acts, and one that is enabled again starts with new changes`()
        async throws
    {
        try await RulesApp.run { app in
            let rest =
                #""when":{"collection":"Notes","events":["created"]},"to":[{"user":"ann"}],"content":{"title":"{{id}}"}"#
            try await app.rule("notes", "{\(rest)}")
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n1"}"#)
            try await eventually("it acts") { try await app.sent().count == 1 }
            try await app.rule("notes", #"{"enabled":false,\#(rest)}"#)
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n2"}"#)
            try await app.rule("notes", "{\(rest)}")
            _ = try await app.storage.write("POST", "/storage/Notes", #"{"_id":"n3"}"#)
            try await eventually("it acts again") { try await app.sent().count == 2 }
            #expect(try await app.sent().map { $0.contains("n3") } == [false, true])
            #expect(try await app.app.master("DELETE", "/notifications/rules/notes").status == 204)
            #expect(
                try await app.app.postgres.query("SELECT is_active FROM notifications.rule_feeds").first?.decode(0)
                    == false)
        }
    }
}
