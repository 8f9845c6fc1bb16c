import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import AnalyticsTickets

/// Comments, attachments, issues, links and labels.
@Suite struct TicketPartsTests {
    @Test func `comments stay in order, and only their author changes them`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            let path = "/tickets/1/comments"
            let first = try await app.ask("POST", path, #"{"text":"one\n\ttwo"}"#)
            #expect(
                first.status == 201 && first["number"] == "1" && first["by"] == Colleague.ada.author
                    && first["edited"] == "null", "\(first)")
            try await app.ask("POST", path, #"{"text":"by bob"}"#, as: .bob)
            try await app.ask("POST", path, #"{"text":"by eve"}"#, as: .eve)

            let before = try await app.fingerprint()
            #expect(try await app.ask("PATCH", path + "/2", #"{"text":"no"}"#).isProblem(.forbidden))
            #expect(
                try await app.ask("DELETE", path + "/2", as: .eve, actions: [.read, .update]).isProblem(.forbidden))
            #expect(try await app.master("PATCH", path + "/2", #"{"text":"no"}"#).isProblem(.forbidden))
            #expect(try await app.fingerprint() == before)

            let edited = try await app.ask("PATCH", path + "/2", #"{"text":"bob again"}"#, as: .bob)
            #expect(edited["text"] == "\"bob again\"" && edited["edited"] != "null" && edited["number"] == "2")
            let list = try await app.ask("GET", path + "?limit=2")
            #expect(
                list["data.0.text"] == #""one\u000a\u0009two""# && list["data.1.text"] == "\"bob again\""
                    && list["next"] == "\"2\"", "\(list)")
            #expect(try await app.ask("GET", path + "?after=2")["data.0.by"] == Colleague.eve.author)

            #expect(try await app.ask("DELETE", path + "/1", actions: [.read, .update]).status == 204, "by its author")
            #expect(
                try await app.ask("DELETE", path + "/2", as: .eve).status == 204, "by a member who may delete tickets")
            #expect(try await app.ask("POST", path, #"{"text":"next"}"#)["number"] == "4", "numbers are not reused")
            let history = try await app.ask("GET", "/tickets/1/history")
            #expect(
                (1...7).map { history["data.\($0).act"] } == [
                    "\"commented\"", "\"commented\"", "\"commented\"", "\"commentEdited\"", "\"commentDeleted\"",
                    "\"commentDeleted\"", "\"commented\"",
                ])
            #expect(
                try await app.ask("GET", "/tickets/1")["revision"] == "1", "a comment does not conflict with an edit")
        }
    }

    @Test func `an attachment is returned unchanged, and never shown as a page`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            let path = "/tickets/1/attachments"
            for (number, name, declared, text, type, disposition) in [
                (1, "log.txt", "text/plain", "line\n", "text/plain; charset=utf-8", "inline"),
                (
                    2, "page.html", "text/html", "<html><script>alert(1)</script>", "text/html; charset=utf-8",
                    "attachment"
                ),
                (3, "x.svg", "image/png", "<svg onload='alert(1)'/>", "image/svg+xml", "attachment"),
                (4, "Ä \"b\"\u{2028}.bin", "", "\u{1}\u{2}", "application/octet-stream", "attachment"),
                (5, "empty", "application/pdf", "", "application/octet-stream", "attachment"),
            ] {
                let query = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
                let made = try await app.ask(
                    "POST", path + "?name=\(query)", text, headers: declared.isEmpty ? [:] : ["content-type": declared])
                #expect(
                    made.status == 201 && made["number"] == "\(number)" && made["name"] == JSONValue.quote(name)
                        && made["size"] == "\(text.utf8.count)", "\(made)")
                #expect(made["sha256"] == JSONValue.quote(Credential.hexDigest(of: text)))
                let read = try await app.ask("GET", path + "/\(number)")
                #expect(
                    read.status == 200 && read.text == text && read.header("content-type") == type,
                    "\(name) \(read.header("content-type") ?? "")")
                #expect(read.header("content-disposition")?.hasPrefix(disposition + "; filename*=UTF-8''") == true)
                #expect(
                    read.header("x-content-type-options") == "nosniff"
                        && read.header("content-security-policy")?.hasPrefix("sandbox; default-src 'none'") == true)
                let known = try await app.ask(
                    "GET", path + "/\(number)", headers: ["if-none-match": try #require(read.header("etag"))])
                #expect(known.status == 304 && known.text.isEmpty)
            }
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(
                ticket["attachmentCount"] == "5" && ticket["attachments.1.name"] == "\"page.html\""
                    && ticket["attachments.1.by"] == Colleague.ada.author)
            #expect(try await app.ask("DELETE", path + "/2").status == 204)
            #expect(try await app.ask("GET", path + "/2").isProblem(.fileNotFound))
            #expect(try await app.ask("POST", path + "?name=y", "y")["number"] == "6")
            let history = try await app.ask("GET", "/tickets/1/history?limit=500")
            #expect(history["data.6.act"] == "\"detached\"" && history["data.6.before"] == "\"page.html\"")

            var other = app
            other.appID = "app2"
            try await other.ticket(#"{"title":"t"}"#)
            #expect(try await other.ask("GET", path + "/1").isProblem(.fileNotFound))
        }
    }

    @Test func `a file that is too large is refused, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            let before = try await app.fingerprint()
            let files = app.service.tickets.attachments.files
            let space = try await app.service.spaces.space(of: "app1", .live)
            let large = String(repeating: "x", count: TicketLimits.attachmentInBytes + 1)
            #expect(try await app.ask("POST", "/tickets/1/attachments?name=x", large).isProblem(.payloadTooLarge))
            #expect(try await app.fingerprint() == before)
            #expect(try await files.list(AttachmentStore.blobSpace(space), after: nil, limit: 10).blobs.isEmpty)
        }
    }

    @Test func `crash issues are attached, shown, and resolved together with the ticket`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...3)
            try await app.ticket(#"{"title":"t","issues":[2],"appVersion":"1.4"}"#)
            #expect(try await app.ask("POST", "/tickets/1/issues", #"{"issues":[2,1,3]}"#)["issueCount"] == "3")
            #expect(try await app.ask("DELETE", "/tickets/1/issues/3").status == 204)
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(
                ticket.numbers("issues") == [2, 1] && ticket["issues.0.title"] == "\"Fault 2\""
                    && ticket["issues.0.status"] == "\"unresolved\"", "\(ticket)")

            // Resolves issues like the crash part of the service.
            let space = try await app.service.spaces.space(of: "app1", .live)
            let tickets = Tickets(
                postgres: app.postgres, spaces: app.service.spaces, files: app.service.tickets.attachments.files,
                logger: .silent, now: { Date() }, lockReports: IssueStore.lock
            ) {
                ids, version, author, space, transaction in
                #expect(version == "1.4" && author.text == "key:k")
                try await transaction.execute(
                    "UPDATE analytics.issues SET status = 'resolved' WHERE id = ANY (\(ids.map(Int.init))) AND space = \(space.id)"
                )
            }
            var change = TicketChange()
            change.status = .complete
            try await tickets.store.update(
                1, change, if: nil, resolvesIssues: true, in: space, by: Author(text: "key:k"))
            let done = try await app.ask("GET", "/tickets/1")
            #expect(
                done["status"] == "\"complete\"" && done["issues.0.status"] == "\"resolved\""
                    && done["issues.1.status"] == "\"resolved\"", "\(done)")
            #expect(
                try await app.postgres.query("SELECT number FROM analytics.issues WHERE status = 'unresolved'").map {
                    try $0.decode(0, as: Int.self)
                } == [3])
            let history = try await app.ask("GET", "/tickets/1/history")
            #expect(history["data.6.act"] == "\"issuesResolved\"" && history["data.6.after"] == "[1,2]", "\(history)")

            // Two issues are merged.
            try await app.ticket(#"{"title":"u","issues":[1]}"#)
            try await app.postgres.withTransaction { transaction in
                let ids = try await transaction.query("SELECT id FROM analytics.issues ORDER BY number").map {
                    try $0.decode(0, as: Int64.self)
                }
                try await TicketStore.moveIssue(from: ids[0], to: ids[1], transaction)
                try await transaction.execute("DELETE FROM analytics.issues WHERE id = \(ids[0])")
            }
            #expect(try await app.numbers("?issue=2") == [2, 1])
        }
    }

    @Test func `what happens to an issue is recorded in its tickets, and followers are notified`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...3)
            try await app.ticket(#"{"title":"t","issues":[1,3]}"#)
            try await app.ticket(#"{"title":"u","issues":[1,2]}"#)
            try await app.ticket(#"{"title":"v"}"#)
            let space = try await app.service.spaces.space(of: "app1", .live)
            let store = app.service.tickets.store
            let acts = { (number: Int) in
                let history = try await app.ask("GET", "/tickets/\(number)/history")
                return (3..<6).compactMap { index in
                    history["data.\(index).act"].map {
                        "\($0) \(history["data.\(index).before"] ?? "") \(history["data.\(index).after"] ?? "")"
                    }
                }
            }
            var generation = try await store.generation(of: space)
            #expect(try await app.master("POST", "/crashes/issues/2/merge", #"{"issues":[1]}"#).status == 200)
            var changes = try await store.changes(in: space, after: generation, limit: 10)
            #expect(changes.numbers?.sorted() == [1, 2] && changes.generation == generation + 1)
            #expect(try await acts(1) == [#""issueDetached" 1 null"#, #""issueAttached" null 2"#])
            #expect(try await acts(2) == [#""issueDetached" 1 null"#], "the ticket is linked to issue 2 already")
            // The number of the merged issue now stands for the issue it was merged into.
            #expect(try await app.numbers("?issue=1") == [2, 1])
            #expect(try await app.ask("POST", "/tickets/3/issues", #"{"issues":[1]}"#).numbers("issues") == [2])

            generation = try await store.generation(of: space)
            #expect(try await app.master("DELETE", "/crashes/issues/3").status == 204)
            changes = try await store.changes(in: space, after: generation, limit: 10)
            #expect(changes.numbers == [1])
            #expect(try await acts(1).last == #""issueDetached" 3 null"#)
            let ticket = try await app.ask("GET", "/tickets/1")
            #expect(ticket["issueCount"] == "1" && ticket.numbers("issues") == [2], "\(ticket)")
        }
    }

    @Test func `links are visible from both sides`() async throws {
        try await AnalyticsApp.run { app in
            for _ in 1...3 { try await app.ticket(#"{"title":"t"}"#) }
            for body in [
                #"{"kind":"blockedBy","ticket":2}"#, #"{"kind":"relates","ticket":3}"#,
                #"{"kind":"relates","ticket":3}"#, #"{"kind":"duplicates","ticket":3}"#,
            ] {
                #expect(try await app.ask("POST", "/tickets/1/links", body).status == 200)
            }
            let kinds = { (number: Int) in
                let ticket = try await app.ask("GET", "/tickets/\(number)")
                return (0..<4).compactMap { index in
                    ticket["links.\(index).kind"].map { "\($0) \(ticket["links.\(index).ticket"] ?? "")" }
                }
            }
            #expect(try await kinds(1) == [#""blockedBy" 2"#, #""duplicates" 3"#, #""relates" 3"#])
            #expect(try await kinds(2) == [#""blocks" 1"#])
            #expect(try await kinds(3) == [#""duplicatedBy" 1"#, #""relates" 1"#])
            #expect(try await app.ask("GET", "/tickets/1")["isBlocked"] == "true")
            try await app.change(2, #"{"status":"complete"}"#)
            #expect(try await app.ask("GET", "/tickets/1")["isBlocked"] == "false")
            #expect(try await app.ask("DELETE", "/tickets/3/links/relates/1").status == 204, "from either side")
            #expect(try await app.ask("DELETE", "/tickets/1/links/blockedBy/2").status == 204)
            try await app.ask("DELETE", "/tickets/3")
            #expect(try await kinds(1) == [], "what is in the bin is not shown")
            let history = try await app.ask("GET", "/tickets/2/history")
            #expect(
                history["data.1.act"] == "\"linked\"" && history["data.1.after.kind"] == "\"blocks\""
                    && history["data.1.after.ticket"] == "1", "\(history)")
        }
    }

    /// However many links are added at once, no path of `blocks` leads back to its start.
    @Test func `tickets never block each other in a cycle`() async throws {
        try await AnalyticsApp.run { app in
            let count = 8
            for _ in 1...count { try await app.ticket(#"{"title":"t"}"#) }
            let answers = try await withThrowingTaskGroup(of: [(Int, Int, Int)].self) { group in
                for person in 0..<6 {
                    group.addTask {
                        var random = SeededGenerator(state: UInt64(person))
                        var answers: [(Int, Int, Int)] = []
                        for _ in 0..<20 {
                            let (from, to) = (
                                Int.random(in: 1...count, using: &random), Int.random(in: 1...count, using: &random)
                            )
                            guard from != to else { continue }
                            answers.append(
                                (
                                    from, to,
                                    try await app.ask(
                                        "POST", "/tickets/\(from)/links", #"{"kind":"blocks","ticket":\#(to)}"#
                                    ).status
                                ))
                        }
                        return answers
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            var edges: [Int: Set<Int>] = [:]
            for (from, to, status) in answers where status == 200 { edges[from, default: []].insert(to) }
            func reaches(_ from: Int, _ to: Int, _ seen: Set<Int> = []) -> Bool {
                edges[from, default: []].contains {
                    $0 == to || !seen.contains($0) && reaches($0, to, seen.union([$0]))
                }
            }
            #expect((1...count).allSatisfy { !reaches($0, $0) })
            #expect(Set(answers.map(\.2)) == [200, 409])
            // Every refused link would have closed a cycle.
            for (from, to, status) in answers where status == 409 { #expect(reaches(to, from), "\(from) \(to)") }
        }
    }

    @Test func `labels are renamed and deleted on all tickets`() async throws {
        try await AnalyticsApp.run { app in
            let made = try await app.ask("POST", "/tickets/labels", ##"{"name":"needs work","color":"#FF8800"}"##)
            #expect(
                made.status == 201 && made.text == ##"{"name": "needs work", "color": "#ff8800", "tickets": 0}"##,
                "\(made)")
            try await app.ask("POST", "/tickets/labels", #"{"name":"ui"}"#)
            try await app.ticket(#"{"title":"t","labels":["UI","needs work"]}"#)
            try await app.ticket(#"{"title":"t","labels":["ui"]}"#)
            #expect(
                try await app.ask("PATCH", "/tickets/labels/needs%20work", #"{"name":"Later"}"#)["color"]
                    == "\"#ff8800\"")
            let renamed = try await app.ask("GET", "/tickets/1")
            #expect(renamed["labels"] == #"["Later","ui"]"# && renamed["revision"] == "2")
            #expect(
                try await app.ask("PATCH", "/tickets/labels/later", ##"{"color":"#000000"}"##)["color"] == "\"#000000\""
            )
            #expect(
                try await app.ask("GET", "/tickets/1")["revision"] == "2", "a label's color is not part of the ticket")
            let list = try await app.ask("GET", "/tickets/labels")
            #expect(list["data.0.name"] == "\"Later\"" && list["data.1.tickets"] == "2", "\(list)")
            #expect(try await app.ask("DELETE", "/tickets/labels/UI").status == 204)
            #expect(try await app.ask("GET", "/tickets/1")["labels"] == #"["Later"]"#)
            #expect(try await app.ask("GET", "/tickets/2/history")["data.1.before"] == "\"ui\"")
            #expect(try await app.change(1, #"{"labels":[]}"#)["labels"] == "[]")
        }
    }
}
