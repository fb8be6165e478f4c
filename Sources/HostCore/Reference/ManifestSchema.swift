public import ApsuleKit

/// `app.schema.json`: the JSON Schema of `app.json`, with this host's permissions and operations, for editors.
public enum ManifestSchema {
    public static func json(_ descriptors: [Descriptor], _ catalogue: PermissionCatalogue) -> JSON {
        let operations = descriptors.flatMap(\.operations)
        let names: [JSON] = operations.map { .string($0.fullName) }.sorted { $0.text < $1.text }
        return [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": .string("Written by `apsule types` for host \(Discovery.hostVersion)."),
            "title": "An Apsule project",
            "type": "object",
            "required": ["apsule", "id", "name", "version"],
            "properties": [
                "$schema": ["type": "string"],
                "apsule": ["const": 1, "description": "The version of this format."],
                "id": [
                    "type": "string", "maxLength": 100, "pattern": "^[a-z0-9]+([.-][a-z0-9]+)+$",
                    "description":
                        "Who the project is: com.example.app. Another id is another project, with its own data.",
                ],
                "name": text("What people call it; permission questions show it."),
                "version": text("1.0.0"),
                "description": ["type": "string"],
                "entry": ["type": "string", "default": "main.js", "description": "The script that is run."],
                "views": [
                    "type": "object", "additionalProperties": ["type": "string"], "description": "JSON views by name.",
                ],
                "initialView": ["type": "string"],
                "icon": ["type": "string"],
                "permissions": [
                    "type": "object", "additionalProperties": false,
                    "description": "What the project may ask for. A person approves it.",
                    "properties": .object(
                        catalogue.names.compactMap { name in
                            catalogue[name].map { .init(name, permission($0, operations)) }
                        }),
                ],
                "requires": [
                    "type": "object", "description": "What the host must have for the project to run at all.",
                    "properties": [
                        "host": ["type": "string", "description": "As in >=0.1."],
                        "operations": ["type": "array", "items": ["enum": .array(names)]],
                    ],
                ],
                "optional": [
                    "type": "object", "description": "What the project uses where the host has it.",
                    "properties": [
                        "operations": [
                            "type": "array", "items": ["anyOf": [["enum": .array(names)], ["type": "string"]]],
                        ]
                    ],
                ],
                "limits": limits,
                "settings": ["type": "object", "description": "Settings of families by their names."],
                "background": background,
            ],
        ]
    }

    private static let limits: JSON = [
        "type": "object", "additionalProperties": false,
        "properties": [
            "turnMs": [
                "type": "integer", "minimum": 10, "maximum": 600_000, "default": 5_000,
                "description": "How long the script may keep its turn, in milliseconds.",
            ],
            "memoryMB": ["type": "integer", "minimum": 32, "maximum": 16_384, "default": 512],
        ],
    ]

    private static let background: JSON = [
        "type": "array",
        "items": [
            "type": "object", "required": ["id", "action"],
            "properties": [
                "id": ["type": "string"], "action": ["type": "string"],
                "earliestSeconds": ["type": "number", "minimum": 0],
            ],
        ],
    ]

    private static func text(_ description: String) -> JSON {
        ["type": "string", "minLength": 1, "description": .string(description)]
    }

    /// `true`, a level, or an object.
    private static func permission(
        _ permission: PermissionCatalogue.Permission, _ operations: [OperationDescriptor]
    ) -> JSON {
        let level: JSON = ["enum": .array(permission.levels.map { .string($0) })]
        let names = operations.filter { operation in
            operation.permission?.name == permission.name
                || operation.requires.contains { $0.permission == permission.name }
        }.map(\.fullName).sorted()
        var properties: JSON = [:]
        if !permission.levels.isEmpty { properties.set("level", level) }
        for scope in permission.scopes {
            properties.set(
                scope,
                [
                    "type": "array", "items": ["type": "string"],
                    "description": .string("The only \(scope) that the project may use; an empty list allows none."),
                ])
        }
        properties.set(
            "operations",
            [
                "type": "object", "description": "Switches operations off, or only some on.",
                "properties": .object(names.map { .init($0, ["type": "boolean"]) }),
                "additionalProperties": ["type": "boolean"],
            ])
        properties.set("reason", ["type": "string", "description": "Why, in words that a person is shown."])
        var choices: [JSON] = [["type": "boolean"]]
        if !permission.levels.isEmpty { choices.append(level) }
        choices.append(["type": "object", "additionalProperties": false, "properties": properties])
        return ["description": .string("Lets the project \(permission.title)."), "anyOf": .array(choices)]
    }
}
