/// The rules of the source documents' apps (REQUIREMENTS B, C and D), which need no server code.
enum SourceAppRules {
    /// SportLook: people join events, and only participants chat (B3, B5, B6).
    static let sportLook = [
        "Events": #"""
        {"rules":{
          "find":["authenticated"],"get":["authenticated"],"count":["authenticated"],
          "create":[{"where":{"creator":"$user.id","participants":"$user.id","state":"open"}}],
          "update":[
            {"who":["authenticated"],"where":{"state":"open"},
             "operations":{"participants":{"AddUnique":["$user.id"],"Remove":["$user.id"]}}},
            {"where":{"creator":"$user.id"},"fields":["title","state","start"]}],
          "delete":[{"where":{"creator":"$user.id"}}]}}
        """#,
        "Messages": #"""
        {"rules":{
          "find":[{"where":{"event.participants":"$user.id"},"through":{"event":"Events"}}],
          "get":[{"where":{"event.participants":"$user.id"},"through":{"event":"Events"}}],
          "count":[{"where":{"event.participants":"$user.id"},"through":{"event":"Events"}}],
          "create":[{"where":{"author":"$user.id","event.participants":"$user.id"},"through":{"event":"Events"}}],
          "update":[],
          "delete":[{"where":{"author":"$user.id"}}]}}
        """#,
        "Invitations": #"""
        {"rules":{
          "find":[{"where":{"to":"$user.id"}},{"where":{"from":"$user.id"}}],
          "get":[{"where":{"to":"$user.id"}},{"where":{"from":"$user.id"}}],
          "count":[{"where":{"to":"$user.id"}},{"where":{"from":"$user.id"}}],
          "create":[{"where":{"from":"$user.id","state":"sent","event.participants":"$user.id"},
                     "through":{"event":"Events"}}],
          "update":[{"where":{"to":"$user.id","state":"sent","$new.state":{"$in":["accepted","declined"]}},
                     "fields":["state"]}],
          "delete":[{"where":{"from":"$user.id"}}]}}
        """#,
    ]

    /// FindMyBike: whoever has the app reports sightings; only the owner of the bike learns where (C2, C6).
    static let findMyBike = [
        "Bikes": #"""
        {"rules":{
          "find":[{"where":{"owner":"$user.id"}},{"where":{"missing":true}}],
          "get":[{"where":{"owner":"$user.id"}},{"where":{"missing":true}}],
          "count":[{"where":{"owner":"$user.id"}},{"where":{"missing":true}}],
          "create":[{"where":{"owner":"$user.id"}}],
          "update":[{"where":{"owner":"$user.id"},"fields":["make","colour","missing"]}],
          "delete":[{"where":{"owner":"$user.id"}}]},
         "hidden":{"owner":[{"where":{"owner":"$user.id"}}]}}
        """#,
        "Sightings": #"""
        {"rules":{
          "find":[{"where":{"bike.owner":"$user.id"},"through":{"bike":"Bikes"}}],
          "get":[{"where":{"bike.owner":"$user.id"},"through":{"bike":"Bikes"}}],
          "count":[{"where":{"bike.owner":"$user.id"},"through":{"bike":"Bikes"}}],
          "create":[{"where":{"bike.missing":true},"through":{"bike":"Bikes"}}],
          "update":[],
          "delete":[{"where":{"bike.owner":"$user.id"},"through":{"bike":"Bikes"}}]}}
        """#,
    ]

    /// The sign-up form of Napton's events app (D2): anyone signs up, only organisers read the list.
    static let kickIn = [
        "SignUps": #"""
        {"rules":{"find":["role:organisers"],"get":["role:organisers"],"count":["role:organisers"],
          "create":[{"where":{"event.open":true},"through":{"event":"Events"}}],"update":[],
          "delete":["role:organisers"]}}
        """#,
        "Events": #"""
        {"rules":{"find":["*"],"get":["*"],"count":["*"],
          "create":["role:organisers"],"update":["role:organisers"],"delete":["role:organisers"]}}
        """#,
    ]

    /// The timetable: everyone reads what is published, and editors write.
    static let timetable = [
        "Lessons": #"""
        {"rules":{
          "find":[{"where":{"published":true}},"role:editors"],
          "get":[{"where":{"published":true}},"role:editors"],
          "count":[{"where":{"published":true}},"role:editors"],
          "create":["role:editors"],"update":["role:editors"],"delete":["role:editors"]},
         "hidden":{"note":["role:editors"]}}
        """#
    ]
}
